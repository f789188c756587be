"""Trainers that a remedy cures: ``python -m tests.children.trainer_that_recovers HABIT RUN_DIR --attempt N``.

Their deaths are real, and so are their checkpoints: a file with a manifest
that tells its size and hash.  What an attempt is given it reads as a real
trainer does, from the spec and the attempt's plan.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.engine.manifests import Manifest, newest_verified, write_manifest
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.events import Phase
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter
from trainer.telemetry.stack_dumps import answer_with_stacks

LAST = 20


@dataclass(frozen=True)
class Launch:
    """One attempt as its trainer sees it."""

    paths: RunPaths
    attempt: int
    params: dict[str, Any]
    reporter: Reporter
    controls: Controls
    start: int

    def train(self, last: int, *, save_at: tuple[int, ...] = ()) -> None:
        """Report every step after ``start`` up to ``last``, and save at some."""
        self.reporter.phase(Phase.TRAINING, step=self.start)
        for step in range(self.start + 1, last + 1):
            self.reporter.metrics(step, {"train/loss": 1.0 / step})
            self.reporter.progress(step, total_steps=LAST, epoch=0.5, num_epochs=1)
            if step in save_at:
                self.save(step)

    def save(self, step: int) -> None:
        """A checkpoint that verifies."""
        content = f"the weights after step {step}".encode()
        name = f"step_{step:06d}.pt"
        self.paths.checkpoints.mkdir(exist_ok=True)
        (self.paths.checkpoints / name).write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        write_manifest(
            self.paths, Manifest(name, len(content), sha256, step, 0, {}, "schedule", time.time(), False)
        )
        self.reporter.checkpoint(
            step, file=name, num_bytes=len(content), sha256=sha256, metrics={}, best=False, reason="schedule"
        )

    def finish(self) -> None:
        """Train to the end and say so."""
        self.train(LAST)
        self.reporter.finished(LAST, reason="completed", metrics={"last": {}, "best": {}})


Habit = Callable[[Launch], None]


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def needs_one_thread(launch: Launch) -> None:
    """Its heap breaks as long as there are several OpenMP threads."""
    launch.train(5)
    threads, waiting = os.environ.get("OMP_NUM_THREADS"), os.environ.get("OMP_WAIT_POLICY")
    if (threads, waiting) != ("1", "PASSIVE"):
        sys.stderr.write("double free or corruption (!prev)\n")
        sys.stderr.flush()
        os.abort()
    launch.finish()


def is_killed_once(launch: Launch) -> None:
    """Killed in its first attempt, behind a checkpoint; goes on from there."""
    if launch.attempt == 1:
        launch.train(8, save_at=(5,))
        _kill()
    launch.finish()


def is_killed_later_and_later(launch: Launch) -> None:
    """Killed at another step every time, and never saves."""
    launch.train(4 + 3 * launch.attempt)
    _kill()


def is_killed_but_gets_on(launch: Launch) -> None:
    """Killed in four attempts, each of which saved a little further."""
    if launch.attempt <= 4:
        place = 4 * launch.attempt
        launch.train(place, save_at=(place - 1,))
        _kill()
    launch.finish()


def always_segfaults(launch: Launch) -> None:
    """At the same step, whatever is tried."""
    launch.train(5)
    ctypes.string_at(1)


def needs_half_the_batch(launch: Launch) -> None:
    """Runs out of memory with more than four rows."""
    launch.train(5)
    if launch.params["batch_size"] > 4:
        raise MemoryError("not enough for so many rows")
    launch.finish()


def needs_mining_elsewhere(launch: Launch) -> None:
    """Computes without end when it mines in its own process."""
    launch.train(5, save_at=(5,))
    launch.reporter.phase(Phase.MINING, step=5)
    while launch.params.get("search") != "own":
        pass
    launch.finish()


def cannot_read_its_newest_checkpoint(launch: Launch) -> None:
    """Killed behind two checkpoints, of which torch cannot read the second, although it is as written."""
    if launch.attempt == 1:
        launch.train(12, save_at=(5, 10))
        _kill()
    if launch.start == 10:
        raise RuntimeError("PytorchStreamReader failed reading zip archive: failed finding central directory")
    launch.finish()


def needs_more_files(launch: Launch) -> None:
    """Opens more files than it may."""
    launch.train(5)
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 4096:
        raise OSError(errno.EMFILE, "Too many open files")
    launch.finish()


def fills_the_disk(launch: Launch) -> None:
    """No remedy makes room."""
    launch.train(5, save_at=(5,))
    raise OSError(errno.ENOSPC, "No space left on device")


def breaks_when_asked_to_stop(launch: Launch) -> None:
    """Its last checkpoint fails for want of space."""
    launch.train(5)
    while not launch.controls.should_stop:
        time.sleep(0.01)
    raise OSError(errno.ENOSPC, "No space left on device")


HABITS: dict[str, Habit] = {
    habit.__name__: habit
    for habit in (
        needs_one_thread,
        is_killed_once,
        is_killed_later_and_later,
        is_killed_but_gets_on,
        always_segfaults,
        needs_half_the_batch,
        needs_mining_elsewhere,
        cannot_read_its_newest_checkpoint,
        needs_more_files,
        fills_the_disk,
        breaks_when_asked_to_stop,
    )
}


def main() -> None:
    """Be the trainer with this habit."""
    habit, paths, attempt = sys.argv[1], RunPaths(Path(sys.argv[2])), int(sys.argv[4])
    answer_with_stacks(paths, attempt=attempt)
    plan = AttemptPlan.load(paths, attempt)
    params = {**RunSpec.load(paths).params, **(plan.params if plan is not None else {})}
    newest = newest_verified(paths) if attempt > 1 else None
    start = int(newest.stem.removeprefix("step_")) if newest is not None else 0
    reporter = Reporter(paths, attempt=attempt)
    controls = Controls(paths)
    with contextlib.closing(reporter):
        HABITS[habit](Launch(paths, attempt, params, reporter, controls, start))


if __name__ == "__main__":
    main()
