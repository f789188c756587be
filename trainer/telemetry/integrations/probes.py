"""Asks a script's model its fixed examples when a snapshot is due and the run can afford it."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from trainer.telemetry.run_words import Run
from trainer.telemetry.snapshot_schedule import SnapshotBudget, SnapshotSchedule

log = logging.getLogger(__name__)
Answer = Callable[[Any, Sequence[Mapping[str, Any]]], Sequence[Mapping[str, Any]]]
SHARE: Final = 0.05


class ProbeSet:
    """Fixed examples and how the model is asked; with no examples nothing is ever due.

    ``answer(model, probes)`` gives one mapping per probe: ``output``, and what is known of ``loss`` and
    ``correct``. It is called in evaluation mode, without gradients; random numbers go on as if it had
    not been.
    """

    def __init__(
        self, probes: Sequence[Mapping[str, Any]], answer: Answer | None, *, share: float = SHARE
    ) -> None:
        """``share`` is how much of the run's time snapshots may take, 0..1.

        Raises:
            ValueError: there are probes and no ``answer``, or the other way round.
        """
        if bool(probes) != (answer is not None):
            raise ValueError("snapshots need both: probes=[...] and answer=function(model, probes)")
        self._probes = [dict(probe) for probe in probes]
        self._answer = answer
        self._schedule = SnapshotSchedule()
        self._budget = SnapshotBudget(share)
        self._began_at = time.monotonic()
        self._last_step: int | None = None
        self._last_failure = ""

    def begin(self, step: int) -> None:
        """The training begins, or goes on, at ``step``."""
        self._began_at = time.monotonic()
        if step > 0:
            self._schedule.passed(step)

    def is_due(self, step: int) -> bool:
        """Whether the schedule wants a snapshot after ``step``."""
        return bool(self._probes) and self._schedule.is_due(step)

    def take(
        self, run: Run, model: Any, *, step: int, total_steps: int, epoch: float, is_wanted: bool = False
    ) -> None:
        """Ask and report; what goes wrong costs the snapshot, never the training.

        ``is_wanted`` says that a person asked for it, or that it is the last one: no budget is asked then.
        """
        if self._answer is None or step == self._last_step:
            return
        self._schedule.passed(step)
        elapsed_s = time.monotonic() - self._began_at
        remaining_s = elapsed_s / max(1, step) * max(0, total_steps - step)
        if not is_wanted and self._budget.refusal(elapsed_s=elapsed_s, remaining_s=remaining_s) is not None:
            return
        began = time.monotonic()
        run.phase("snapshotting", detail=f"{len(self._probes)} examples")
        try:
            with _asking(model):
                answers = self._answer(model, self._probes)
            examples = [{**probe, **answer} for probe, answer in zip(self._probes, answers, strict=True)]
        except Exception as exc:  # told on the run's page; the training goes on
            log.debug("no snapshot", exc_info=True)
            self._tell_failure(run, f"answer(model, probes) raised {type(exc).__name__}: {exc}")
        else:
            vectors = [answer["vector"] for answer in answers if answer.get("vector") is not None]
            run.snapshot(step, examples, epoch=epoch, vectors=vectors or None)
            self._last_step = step
        self._budget.spend(time.monotonic() - began)
        run.phase("training")

    def _tell_failure(self, run: Run, why: str) -> None:
        """An ``answer`` that is wrong is so at every snapshot: once is enough."""
        if why != self._last_failure:
            run.alert("A snapshot failed", why, "warning")
        self._last_failure = why


@contextlib.contextmanager
def _asking(model: Any) -> Iterator[None]:
    """Evaluation mode, no gradients, and all random numbers afterwards as they would have been."""
    torch: Any = sys.modules.get("torch")
    was_training = bool(getattr(model, "training", False))
    with contextlib.ExitStack() as stack:
        if torch is not None:
            devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
            stack.enter_context(torch.random.fork_rng(devices=list(devices)))
            stack.enter_context(torch.no_grad())
        if was_training:
            model.eval()
            stack.callback(model.train)
        yield
