"""A callback in the style of Lightning, in plain Python.

``class Report(SignalboxCallback, lightning.Callback): ...`` makes it one of the
library's own: the library is not imported here. Metrics are those the module
logs (``trainer.callback_metrics``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from trainer.telemetry.current import current_run
from trainer.telemetry.integrations.probes import SHARE, Answer, ProbeSet
from trainer.telemetry.output.names import metric_name
from trainer.telemetry.run_words import Run

_EPOCH: Final = "_epoch"


class SignalboxCallback:
    """Reports one training; only the process with ``trainer.is_global_zero`` does."""

    def __init__(
        self,
        *,
        probes: Sequence[Mapping[str, Any]] = (),
        answer: Answer | None = None,
        snapshot_share: float = SHARE,
        log_every: int = 1,
        run: Run | None = None,
    ) -> None:
        """``log_every`` is how many steps pass between two reports; see :class:`ProbeSet` for ``answer``.

        Raises:
            ValueError: only one of ``probes`` and ``answer`` was given, or ``log_every`` is below 1.
        """
        super().__init__()
        if log_every < 1:
            raise ValueError(f"log_every must be at least 1, got {log_every}")
        self._run = run or current_run()
        self._probes = ProbeSet(probes, answer, share=snapshot_share)
        self._log_every = log_every
        self._step = -1
        self._num_validated = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Say where the training starts, and ask the untrained model."""
        if not trainer.is_global_zero:
            return
        self._run.device(str(getattr(pl_module, "device", "")))
        self._run.phase("training")
        self._progress(trainer)
        self._probes.begin(trainer.global_step)
        self._snapshot(trainer, pl_module)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Report the step, and obey; batches that only add to an update are no steps."""
        if self._run.should_stop():
            trainer.should_stop = True
        step = trainer.global_step
        if not trainer.is_global_zero or step == self._step:
            return
        self._step = step
        if step % self._log_every == 0 or step == 1:
            self._log(trainer, is_training=True, outputs=outputs)
        self._progress(trainer)
        self._snapshot(trainer, pl_module, is_wanted=self._run.should_snapshot())

    def on_validation_batch_end(self, trainer: Any, *more: Any, **named: Any) -> None:
        """An evaluation advances."""
        if trainer.is_global_zero:
            self._num_validated += 1
            self._run.phase("evaluating", detail=f"batch {self._num_validated}")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Report the evaluation; the check before the training is none."""
        self._num_validated = 0
        if trainer.is_global_zero and not getattr(trainer, "sanity_checking", False):
            self._log(trainer, is_training=False, outputs=None)
            self._run.phase("training")

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Ask the trained model, and say the last word."""
        if trainer.is_global_zero:
            self._snapshot(trainer, pl_module, is_wanted=True)
            self._progress(trainer)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The library makes an exception of the signal that a stop begins with: this is the end, then."""
        if self._run.should_stop():
            self.on_train_end(trainer, pl_module)

    def _log(self, trainer: Any, *, is_training: bool, outputs: Any) -> None:
        values: dict[str, Any] = {}
        if is_training and isinstance(outputs, Mapping) and "loss" in outputs:
            values["train/loss"] = outputs["loss"]
        for key, value in trainer.callback_metrics.items():
            name = metric_name(str(key))
            is_of_epoch = str(key).endswith(_EPOCH) or (name or "").startswith(("eval/", "test/"))
            if name is not None and is_training != is_of_epoch:
                values[name.removesuffix(_EPOCH) if name.startswith("eval/") else name] = value
        if values:
            self._run.log(values, step=trainer.global_step)

    def _progress(self, trainer: Any) -> None:
        self._run.progress(
            trainer.global_step,
            _total_steps(trainer),
            epoch=float(trainer.current_epoch),
            num_epochs=getattr(trainer, "max_epochs", None) or None,
        )

    def _snapshot(self, trainer: Any, model: Any, *, is_wanted: bool = False) -> None:
        if is_wanted or self._probes.is_due(trainer.global_step):
            self._probes.take(
                self._run,
                model,
                step=trainer.global_step,
                total_steps=_total_steps(trainer) or 0,
                epoch=float(trainer.current_epoch),
                is_wanted=is_wanted,
            )


def _total_steps(trainer: Any) -> int | None:
    """How many steps the training has, where that is known."""
    total = getattr(trainer, "estimated_stepping_batches", None)
    return int(total) if isinstance(total, (int, float)) and 0 < total < math.inf else None
