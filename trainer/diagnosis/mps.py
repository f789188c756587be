"""Apple's GPU backend: memory, Metal faults, and what it cannot do."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Role, Signature
from trainer.protocol.rungs import Rung

SIGNATURES: Final = (
    Signature(
        "mps_oom",
        r"MPS backend out of memory",
        cause="The Mac's GPU may not use more of the memory it shares with the processor.",
        remedy="Halve the batch, close other programs, or train on the CPU. Do not set the watermark to "
        "0.0: it takes "
        "the limit away and can bring the system down.",
        source="https://github.com/pytorch/pytorch/issues/105839",
        rank=7,
        rungs=(Rung.HALVE_BATCH, Rung.SHORTER, Rung.CPU),
    ),
    Signature(
        "mps_watermark",
        r"invalid (?:low|high) watermark ratio",
        cause="The memory limits set for the Mac's GPU contradict each other: low must not be above high.",
        remedy="Set PYTORCH_MPS_LOW_WATERMARK_RATIO no higher than PYTORCH_MPS_HIGH_WATERMARK_RATIO, or "
        "unset both.",
        source="https://github.com/kohya-ss/sd-scripts/issues/603",
        rank=8,
    ),
    Signature(
        "mps_cmdbuf",
        r"command buffer exited with error status|Execution of the command buffer was aborted"
        r"|failed assertion .*(?:ommand ?[bB]uffer|commit call|_status <)",
        cause="The Mac's GPU driver (Metal) failed or timed out; results since then may be wrong.",
        remedy="Go on from the last checkpoint on the CPU, and do not trust what came after it.",
        source="https://github.com/pytorch/pytorch/issues/193571",
        rank=6,
        rungs=(Rung.PREVIOUS_CHECKPOINT, Rung.CPU),
        anywhere=True,
    ),
    Signature(
        "mps_placeholder",
        r"Placeholder storage has not been allocated on MPS device",
        cause="The model lies on the Mac's GPU, its input on the CPU.",
        remedy="Move the batch to the model's device, or use the CPU for both.",
        source="https://github.com/pytorch/pytorch/issues/130790",
        rungs=(Rung.CPU,),
    ),
    Signature(
        "mps_float64",
        r"MPS framework doesn't support float64",
        cause="The Mac's GPU has no 64-bit numbers, and NumPy makes them by default.",
        remedy="Convert to float32 when loading: array.astype('float32').",
        source="https://github.com/pytorch/pytorch/issues/122602",
        rungs=(Rung.CPU,),
    ),
    Signature(
        "mps_op_missing",
        r"is not current(?:ly)? (?:implemented|supported) for the MPS device",
        cause="The Mac's GPU backend cannot do one of the operations the model needs.",
        remedy="Set PYTORCH_ENABLE_MPS_FALLBACK=1 before Python starts (slow), or train on the CPU.",
        source="https://github.com/pytorch/pytorch/issues/77764",
        rungs=(Rung.CPU,),
    ),
    Signature(
        "mps_fallback_slow",
        r"will fall back to run on the CPU",
        cause="An operation the Mac's GPU cannot do is done on the CPU each time, which is slow.",
        remedy="Leave it: nothing is broken. The device 'cpu' may be faster.",
        source="https://github.com/pytorch/pytorch/issues/77764",
        role=Role.WARNING,
    ),
    Signature(
        "mps_rnn_mlir",
        r"LLVM ERROR: Failed to infer result type|argument #0 'grad_y'",
        cause="Recurrent layers (LSTM, GRU) cannot be trained on the Mac's GPU with this torch.",
        remedy="Train recurrent towers on the CPU; on this backend their gradients were wrong in several "
        "versions.",
        source="https://github.com/pytorch/pytorch/issues/87579",
        rank=7,
        rungs=(Rung.CPU,),
    ),
    Signature(
        "mps_pin_memory",
        r"'pin_memory' argument is set as true but not supported on MPS",
        cause="Pinned memory means nothing on a Mac; torch left it off by itself.",
        remedy="Leave it: nothing is broken.",
        source="https://github.com/pytorch/pytorch/blob/main/torch/utils/data/dataloader.py",
        role=Role.WARNING,
    ),
)
