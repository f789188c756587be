"""A callback for the Hugging Face ``Trainer``: ``Trainer(..., callbacks=[SignalboxCallback()])``.

It reports losses and evaluations, phases and progress, announces checkpoints,
ends the training gracefully when somebody asks, and takes evolution snapshots
when it is given probes. Without a supervisor it does nothing. It has the
methods of a ``TrainerCallback`` without importing transformers, and ignores
events it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from trainer.telemetry.current import current_run
from trainer.telemetry.integrations.probes import SHARE, Answer, ProbeSet
from trainer.telemetry.output.names import metric_name
from trainer.telemetry.run_words import Run

_SUMMARY: Final = "train_runtime"


class SignalboxCallback:
    """Reports one training; only the main process of several does."""

    def __init__(
        self,
        *,
        probes: Sequence[Mapping[str, Any]] = (),
        answer: Answer | None = None,
        snapshot_share: float = SHARE,
        run: Run | None = None,
    ) -> None:
        """``probes`` are examples with ``input`` and ``expected_output``; :class:`ProbeSet` tells the rest.

        Raises:
            ValueError: only one of ``probes`` and ``answer`` was given.
        """
        self._run = run or current_run()
        self._probes = ProbeSet(probes, answer, share=snapshot_share)
        self._num_predicted = 0
        self._is_asked_to_stop = False

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
        """Say where the training starts, and ask the untrained model."""
        if not state.is_world_process_zero:
            return
        self._run.device(str(getattr(args, "device", "")))
        self._run.phase("training")
        self._progress(state)
        self._probes.begin(state.global_step)
        self._snapshot(state, model)

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
        """Say how far it is, and obey."""
        if self._run.should_stop():
            if not self._is_asked_to_stop:
                control.should_save = True
            self._is_asked_to_stop = control.should_training_stop = True
        if not state.is_world_process_zero:
            return
        if state.global_step == 1:
            control.should_log = True
        self._progress(state)
        if self._run.should_checkpoint():
            control.should_save = True
        self._snapshot(state, model, is_wanted=self._run.should_snapshot())

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **more: Any
    ) -> None:
        """Report what was measured."""
        if not state.is_world_process_zero or not logs:
            return
        is_summary = _SUMMARY in logs
        values: dict[str, Any] = {}
        for key, value in logs.items():
            name = metric_name(str(key))
            if name is not None and key != "total_flos":
                values[f"final/{name.partition('/')[2]}" if is_summary else name] = value
        self._run.log(values, step=state.global_step, epoch=state.epoch)
        self._progress(state)

    def on_prediction_step(
        self, args: Any, state: Any, control: Any, eval_dataloader: Any = None, **more: Any
    ) -> None:
        """An evaluation advances."""
        if not state.is_world_process_zero:
            return
        self._num_predicted += 1
        try:
            fraction = min(1.0, self._num_predicted / len(eval_dataloader))
        except (TypeError, ZeroDivisionError):
            fraction = None
        self._run.phase("evaluating", detail=f"batch {self._num_predicted}", fraction=fraction)

    def on_evaluate(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """The evaluation is over."""
        self._num_predicted = 0
        if state.is_world_process_zero:
            self._run.phase("training")

    on_predict = on_evaluate

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Announce the checkpoint that was written."""
        if not state.is_world_process_zero:
            return
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        is_best = bool(state.best_model_checkpoint) and Path(state.best_model_checkpoint).name == folder.name
        metrics = {} if state.best_metric is None else {"best_metric": state.best_metric}
        self._run.checkpoint(folder, state.global_step, metrics=metrics, best=is_best)

    def on_train_end(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
        """Ask the trained model, and say the last word."""
        if not state.is_world_process_zero:
            return
        self._snapshot(state, model, is_wanted=True)
        self._progress(state)

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Events of the library that mean nothing here, those of later versions too."""
        if name.startswith("on_"):
            return _ignore
        raise AttributeError(name)

    def _progress(self, state: Any) -> None:
        total = state.max_steps if state.max_steps and state.max_steps > 0 else None
        epochs = int(state.num_train_epochs) if state.num_train_epochs else None
        self._run.progress(state.global_step, total, epoch=state.epoch, num_epochs=epochs)

    def _snapshot(self, state: Any, model: Any, *, is_wanted: bool = False) -> None:
        if model is not None and (is_wanted or self._probes.is_due(state.global_step)):
            self._probes.take(
                self._run,
                model,
                step=state.global_step,
                total_steps=state.max_steps or 0,
                epoch=state.epoch or 0.0,
                is_wanted=is_wanted,
            )


def _ignore(*args: Any, **more: Any) -> None:
    return None
