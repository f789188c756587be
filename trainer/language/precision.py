"""Which numbers a device is good at, and calculating with them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import torch
from torch import Tensor, nn

from trainer.language.sources import ModelError

_BF16_SINCE = (8, 0)  # CUDA compute capability with bf16 in hardware
_FP16_SINCE = (7, 0)
_FP16_SCALE: Final = 1024.0  # small gradients vanish in fp16; a power of two changes no other number
_TYPES: Final = {"bf16": torch.bfloat16, "fp16": torch.float16}


def choose(wish: str, device: torch.device) -> str:
    """``fp32``, ``bf16`` or ``fp16``: what ``wish`` means on ``device``.

    Raises:
        ModelError: the device cannot train with the numbers asked for.
    """
    capability = torch.cuda.get_device_capability(device) if device.type == "cuda" else None
    if wish == "auto":
        if capability is None:
            return "fp32"
        return "bf16" if capability >= _BF16_SINCE else "fp16" if capability >= _FP16_SINCE else "fp32"
    if wish == "fp16" and capability is None:
        raise ModelError(
            f"precision 'fp16' on {device.type}: losses there overflow to NaN or 0 without any error; choose "
            "'auto', 'fp32' or 'bf16'"
        )
    if wish == "bf16" and capability is not None and capability < _BF16_SINCE:
        raise ModelError("precision 'bf16': this GPU has no bf16 in hardware; choose 'auto' or 'fp16'")
    return wish


class Numbers:
    """What the inside of one model calculates with; its weights stay float32."""

    def __init__(self, precision: str, model: nn.Module, *, device: torch.device) -> None:
        """Prepare.

        Args:
            precision: as :func:`choose` says.
            model: in fp16 its gradients are divided by ``loss_scale`` as they come.
            device: where it is.
        """
        self.loss_scale = _FP16_SCALE if precision == "fp16" else 1.0  # times the loss before going back
        self._type = _TYPES.get(precision)
        self._device = device
        if self.loss_scale != 1.0:
            for parameter in model.parameters():
                if parameter.requires_grad:
                    hook: Any = parameter.register_hook  # which has no types
                    hook(self._unscaled)

    def autocast(self) -> AbstractContextManager[Any]:
        """Within it the model calculates so."""
        if self._type is None:
            return nullcontext()
        return torch.autocast(self._device.type, dtype=self._type)

    def _unscaled(self, gradient: Tensor) -> Tensor:
        return gradient / self.loss_scale
