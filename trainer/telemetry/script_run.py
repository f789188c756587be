"""The run as a script sees it: words that go into the spool, and wishes that come back.

Nothing is opened before the first report. Everything a script may hand over is
taken or left out, nothing is refused: a report must never end a training.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from trainer.protocol.events import Command, Phase
from trainer.protocol.files import read_object
from trainer.protocol.run_folder import RunPaths
from trainer.protocol.spool_claim import SpoolClaim
from trainer.telemetry.reporter import Reporter
from trainer.telemetry.run_words import Run
from trainer.telemetry.script_controls import ScriptControls
from trainer.telemetry.script_snapshots import SnapshotFiles, placed_vectors
from trainer.telemetry.script_values import flat_numbers, level_of

log = logging.getLogger(__name__)
SCRIPT_RECIPE: Final = "script"
_CLAIM_S: Final = 0.25  # the supervisor holds the stream for milliseconds at most
MAX_STEP: Final = 2**53
_LOOK_AGAIN_S: Final = 0.005
_RANKS: Final = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "LOCAL_RANK")
_Word = TypeVar("_Word", bound=Callable[..., Any])


def _harmless(word: _Word) -> _Word:
    """Let nothing that goes wrong in ``word`` reach the training."""

    def safely(self: SupervisedRun, *args: Any, **kwargs: Any) -> Any:
        try:
            return word(self, *args, **kwargs)
        except Exception:  # a report must never end a training
            log.debug("a report was left out", exc_info=True)
            return None

    safely.__doc__ = word.__doc__
    safely.__name__ = word.__name__
    return safely  # type: ignore[return-value]  # same signature


class SupervisedRun(Run):
    """The run of a script under a supervisor."""

    is_supervised = True

    def __init__(self, paths: RunPaths, *, attempt: int, dataset: str) -> None:
        super().__init__()
        self.id = paths.root.name
        self._paths = paths
        self._attempt = attempt
        self._reporter: Reporter | None = None
        self._is_silent = any(os.environ.get(name, "0") not in ("0", "") for name in _RANKS)
        self._opening = threading.RLock()
        self._claim = SpoolClaim(paths, attempt=attempt)
        self._controls = ScriptControls(paths)
        self._snapshots = SnapshotFiles(paths, dataset=dataset, attempt=attempt)
        self._newest: dict[str, int] = {}
        self._is_training = self._is_open = False
        self._finished = False
        os.register_at_fork(after_in_child=self._after_fork)
        if not self._is_silent:
            self._claim.announce()

    @_harmless
    def log(
        self,
        values: Mapping[str, Any],
        step: int | None = None,
        *,
        epoch: float | None = None,
        commit: bool = True,
    ) -> None:
        """Write the numbers, each series forwards only."""
        reporter = self._open()
        if reporter is None:
            return
        if step is None:
            step = self.step + (not self._is_open)
        step, self._is_open = max(0, int(step)), not commit
        if step > MAX_STEP:
            return
        numbers = flat_numbers(values)
        fresh = {name: value for name, value in numbers.items() if step >= self._newest.get(name, 0)}
        if not fresh:
            return
        if not self._is_training:
            self._is_training = True
            reporter.phase(Phase.TRAINING, step=step)
        self.step = max(self.step, step)
        self._newest.update(dict.fromkeys(fresh, step))
        self.summary.update(fresh)
        reporter.metrics(step, fresh)
        if epoch is not None:
            reporter.progress(self.step, total_steps=None, epoch=float(epoch), num_epochs=None)

    @_harmless
    def progress(
        self,
        step: int,
        total_steps: int | None = None,
        *,
        epoch: float | None = None,
        num_epochs: int | None = None,
    ) -> None:
        """Write how far it is."""
        reporter = self._open()
        if reporter is not None:
            self.step = max(self.step, int(step))
            reporter.progress(self.step, total_steps=total_steps, epoch=epoch, num_epochs=num_epochs)

    @_harmless
    def phase(self, name: str, *, detail: str | None = None, fraction: float | None = None) -> None:
        """Write the phase."""
        reporter = self._open()
        if reporter is not None:
            phase = Phase(name)
            self._is_training = phase is Phase.TRAINING
            reporter.phase(phase, step=self.step, detail=detail, fraction=fraction)

    @_harmless
    def device(self, name: str) -> None:
        reporter = self._open()
        if reporter is not None and name:
            reporter.device(name)

    @_harmless
    def alert(self, title: str, text: str = "", level: str = "info") -> None:
        reporter = self._open()
        if reporter is not None:
            reporter.alert(level_of(level), str(title)[:200], str(text)[:4_000], self.step)

    @_harmless
    def snapshot(
        self,
        step: int,
        examples: Sequence[Mapping[str, Any]],
        *,
        summary: Mapping[str, Any] | None = None,
        epoch: float = 0.0,
        vectors: Sequence[Any] | None = None,
    ) -> None:
        """Write the file, then announce it."""
        reporter = self._open()
        if reporter is None:
            return
        began = time.perf_counter()
        placed, why = (None, "") if vectors is None else placed_vectors(vectors, len(examples))
        if why:
            reporter.alert(level_of("warning"), "The snapshot has no vectors", why, int(step))
        name, figures = self._snapshots.write(
            int(step), examples, summary=flat_numbers(summary or {}), epoch=epoch, vectors=placed
        )
        reporter.snapshot(int(step), name, figures, time.perf_counter() - began)

    @_harmless
    def checkpoint(
        self,
        path: str | os.PathLike[str],
        step: int,
        *,
        metrics: Mapping[str, Any] | None = None,
        best: bool = False,
    ) -> None:
        """Write where the checkpoint is and how large."""
        reporter = self._open()
        if reporter is not None:
            place = Path(path)
            reporter.checkpoint(
                int(step),
                file=place.name,
                num_bytes=_size(place),
                sha256="",
                metrics=flat_numbers(metrics or {}),
                best=best,
                reason="script",
            )

    @_harmless
    def should_stop(self) -> bool:
        return self._controls.should_stop()

    @_harmless
    def should_checkpoint(self) -> bool:
        return self._controls.take(Command.CHECKPOINT)

    @_harmless
    def should_snapshot(self) -> bool:
        return self._controls.take(Command.SNAPSHOT)

    @_harmless
    def finish(self, exit_code: int = 0) -> None:
        """Write the last word, once."""
        reporter = self._reporter
        if exit_code != 0 or reporter is None or self._finished:
            return
        self._finished = True
        reason: Literal["completed", "stopped"] = "stopped" if self._controls.should_stop() else "completed"
        reporter.finished(self.step, reason=reason, metrics={"last": dict(self.summary), "best": {}})

    def _open(self) -> Reporter | None:
        """The reporter; None where another process of this script reports."""
        if self._reporter is not None or self._is_silent:
            return self._reporter
        with self._opening:
            if self._reporter is None and not self._is_silent:
                reporter = None
                try:
                    if self._claims():
                        reporter = Reporter(self._paths, attempt=self._attempt, narrates=False)
                finally:  # what fails is not tried again
                    self._reporter, self._is_silent = reporter, reporter is None
        return self._reporter

    def _claims(self) -> bool:
        deadline = time.monotonic() + _CLAIM_S
        while not self._claim.take():
            if self._claim.is_script() or time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_AGAIN_S)
        self._claim.mark()
        return True

    def _after_fork(self) -> None:
        """A child does not report beside its parent; where the parent has not begun, it may."""
        self._opening = threading.RLock()
        if self._reporter is not None:
            self._reporter, self._is_silent = None, True


def open_run(run_dir: str) -> Run | None:
    """The supervised run of a script in ``run_dir``; None where it is none, or cannot be read."""
    paths = RunPaths(Path(run_dir))
    try:
        spec = read_object(paths.spec)
        numbers = [int(folder.name) for folder in (paths.root / "attempts").glob("[0-9][0-9][0-9]")]
        if spec.get("recipe") != SCRIPT_RECIPE or not numbers:
            return None
        return SupervisedRun(paths, attempt=max(numbers), dataset=str(spec.get("dataset") or ""))
    except Exception:  # whatever is wrong with the folder, the training goes on
        log.debug("%s is no run that can be reported to", run_dir, exc_info=True)
        return None


def _size(place: Path) -> int:
    if place.is_dir():
        return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    return place.stat().st_size
