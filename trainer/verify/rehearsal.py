"""The whole rehearsal: two real runs at a time, each under a supervisor of its own.

Pairs keep both cores of a small machine busy while libraries are loaded, which
is most of the time: the run that goes through and the one that is killed; the
resumed one and the smallest; a hundred examples and all of them.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import psutil

from trainer.datasets import python_docs
from trainer.datasets.records import DatasetError
from trainer.environment.doctor.check import Check, Verdict, worst
from trainer.preflight.scratch import scratch_folder
from trainer.preflight.supervised import Supervised
from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object
from trainer.protocol.run_folder import RunSpec
from trainer.supervisor.recovery import process_record
from trainer.supervisor.tree import marked
from trainer.verify import plan, proofs
from trainer.verify.plan import Stage
from trainer.verify.proofs import Disproved

LIMIT_S: Final = 300.0
BEYOND_CHECKPOINT: Final = 3  # steps done after a checkpoint and lost by the kill
Tell = Callable[[Check], None]


class Rehearsal:
    """One rehearsal in a folder that is thrown away."""

    def __init__(
        self,
        folder: Path,
        *,
        datasets_dir: Path,
        tell: Tell,
        deadline: float,
        is_cancelled: threading.Event,
    ) -> None:
        """Args:
        folder: empty, for everything.
        datasets_dir: where the corpus is kept, or will be.
        tell: called with every stage as soon as it is judged.
        deadline: of all stages together, ``time.monotonic()``.
        is_cancelled: set when somebody wants the end, which ends the building of the corpus.
        """
        self._is_cancelled = is_cancelled
        self._folder, self._datasets_dir = folder, datasets_dir
        self._tell, self._deadline = tell, deadline
        self._runs: list[Supervised] = []
        self._slice = folder / "slice.jsonl"
        self.checks: list[Check] = []

    def run(self) -> None:
        """Every stage in its order, up to the first that breaks."""
        with contextlib.suppress(Disproved):  # told already
            self._corpus()
            self._train_and_kill()
            self._resume_and_grow()
            self._grow_further()

    def end(self) -> None:
        """End whatever still runs."""
        for run in self._runs:
            run.end()

    @property
    def survivors(self) -> list[int]:
        """Pids that still carry the mark of a run of this rehearsal."""
        return [process.pid for run in self._runs for process in marked(str(run.paths.root))]

    def _corpus(self) -> None:
        with self._stage(plan.CORPUS) as said:
            was_kept = python_docs.kept(self._datasets_dir) is not None
            began = time.monotonic()
            try:
                corpus = python_docs.load(self._datasets_dir, self._go_on)
            except DatasetError as exc:
                raise Disproved(str(exc), "Check that the instance folder can be written.") from exc
            count = plan.write_slice(corpus, self._slice)
            how = "kept from before" if was_kept else f"built in {time.monotonic() - began:.1f} s"
            said.append(f"{len(corpus):,} pairs, {how}; a slice of {count:,}")

    def _go_on(self, detail: str, fraction: float) -> None:
        """Called from the threads that build the corpus.

        Raises:
            DatasetError: there is no time for it.
        """
        if self._is_cancelled.is_set() or self._left() <= 0:
            raise DatasetError(f"the time was over while {detail}, at {fraction:.0%}")

    def _train_and_kill(self) -> None:
        whole = self._start(plan.two_epochs("whole", self._slice, self._datasets_dir))
        self._broken = self._start(plan.two_epochs("broken", self._slice, self._datasets_dir))
        self._whole, killed = whole, self._kill_on_the_way(self._broken)
        with self._stage(plan.TRAIN, whole) as said:
            figures = proofs.finished(whole.paths, self._await(whole).record())
            counts = proofs.went_through_everything(whole.paths)
            said.append(
                f"{figures['steps']} steps with mining, {counts['evaluations']} FAISS evaluations, "
                f"{counts['snapshots']} snapshots and {counts['checkpoints']} checkpoints; loss "
                f"{figures['first_loss']:.2f} to {figures['last_loss']:.2f}"
            )
        with self._stage(plan.KILL, self._broken) as said:
            said.append(self._judge_kill(self._broken, killed))

    def _resume_and_grow(self) -> None:
        resumed = self._start(None, self._broken.paths.root)
        two = self._start(self._grown("two", 2))
        with self._stage(plan.RESUME, resumed) as said:
            proofs.finished(resumed.paths, self._await(resumed).record())
            count = proofs.same_numbers(self._whole.paths, resumed.paths)
            said.append(f"all {count} losses and the evaluations equal the uninterrupted run's, bit for bit")
        self._judge_grown(plan.GROW_2, two)

    def _grow_further(self) -> None:
        hundred = self._start(self._grown("hundred", 100))
        everything = self._start(self._grown("all", 0))
        self._judge_grown(plan.GROW_100, hundred)
        self._judge_grown(plan.GROW_ALL, everything)

    def _grown(self, name: str, num_examples: int) -> RunSpec:
        dataset = str(self._slice) if num_examples else python_docs.NAME
        return plan.grown(name, dataset, self._datasets_dir, num_examples=num_examples)

    def _judge_grown(self, stage: Stage, run: Supervised) -> None:
        with self._stage(stage, run) as said:
            figures = proofs.finished(run.paths, self._await(run).record())
            proofs.went_through_everything(run.paths, but=("mining",) if stage is plan.GROW_ALL else ())
            said.append(f"{figures['steps']} steps, evaluated and saved; loss {figures['last_loss']:.2f}")

    def _kill_on_the_way(self, run: Supervised) -> int:
        """SIGKILL for the trainer in its second epoch, some steps behind a checkpoint; the step it was at."""

        def is_beyond() -> bool:
            saved = proofs.saved_steps(run.paths)
            has_mined = len([step for step in saved if step > 0]) >= 2 and proofs.has_mined(run.paths)
            return has_mined and proofs.last_step(run.paths) >= saved[-1] + BEYOND_CHECKPOINT

        run.wait(limit_s=self._left(), until=is_beyond)
        step = proofs.last_step(run.paths)
        with contextlib.suppress(ProtocolError, psutil.Error, KeyError, TypeError):
            record = read_object(process_record(run.paths, 1))
            process = psutil.Process(int(record["pid"]))
            if abs(process.create_time() - float(record["create_time"])) < 0.01:
                process.send_signal(signal.SIGKILL)
        return step

    def _judge_kill(self, run: Supervised, step: int) -> str:
        record = self._await(run).record()
        if record is None or record.exit_signal != signal.SIGKILL:
            how = record.reason if record is not None else "no record"
            raise Disproved(
                f"the trainer was to be killed, but ended otherwise: {how}",
                "Look at the lines.",
                {"lines": proofs.tail(run.paths)},
            )
        if record.state != "failed":
            raise Disproved(f"a killed trainer is called {record.state}", "Tell us: this must not happen.")
        if left := marked(str(run.paths.root)):
            pids = ", ".join(str(process.pid) for process in left)
            raise Disproved(f"processes {pids} outlived the kill", "Run the doctor: it can end them.")
        step = max(step, record.step)
        lost = step - proofs.saved_steps(run.paths)[-1]
        return f"SIGKILL at step {step}, {lost} steps behind a checkpoint; diagnosed, and no process left"

    def _start(self, spec: RunSpec | None, folder: Path | None = None) -> Supervised:
        """Start a run, or the next attempt of the one in ``folder``."""
        place = folder or self._folder / (spec.run_id if spec is not None else "")
        run = Supervised(spec, place)
        self._runs.append(run)
        return run

    def _await(self, run: Supervised) -> Supervised:
        if not run.wait(limit_s=self._left()):
            raise Disproved(
                "the time limit of the whole rehearsal has passed",
                "The machine is very busy, or the run hangs: the lines show its last words.",
                {"lines": proofs.tail(run.paths)},
            )
        return run

    def _left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    @contextlib.contextmanager
    def _stage(self, stage: Stage, run: Supervised | None = None) -> Iterator[list[str]]:
        """Judge one stage: what is appended is what was found; its time counts from the start of ``run``.

        Raises:
            Disproved: it broke; told already.
        """
        began, said = time.monotonic() if run is None else run.began, list[str]()
        try:
            yield said
        except Disproved as exc:
            details = {**exc.details, "took_s": round(time.monotonic() - began, 2)}
            self._judged(stage, Verdict.PROBLEM, f"Broke: {exc}.", exc.hint, details)
            raise
        details = {"took_s": round(time.monotonic() - began, 2)}
        found = " ".join(said)
        self._judged(stage, Verdict.OK, f"{found[0].upper()}{found[1:]}.", "", details)

    def _judged(
        self, stage: Stage, verdict: Verdict, found: str, remedy: str, details: dict[str, Any]
    ) -> None:
        check = Check(stage.id, stage.title, verdict, found, remedy, details)
        self.checks.append(check)
        self._tell(check)


def rehearse(
    instance: Path,
    *,
    tell: Tell,
    limit_s: float = LIMIT_S,
    keep: bool = False,
    is_cancelled: threading.Event | None = None,
) -> dict[str, Any]:
    """Rehearse in a throw-away folder of ``instance``; the caller must be the main thread.

    Args:
        instance: where the corpus is kept, too.
        tell: called with every stage as soon as it is judged.
        limit_s: for everything.
        keep: leave the folder for looking at it.
        is_cancelled: set by whoever interrupts the main thread.
    Returns:
        ``{"stages", "verdict", "took_s", "folder"}``; folder is None unless it was kept.
    Raises:
        OSError: nothing can be written to ``instance``, or no process be started.
    """
    began = time.monotonic()
    checks: list[Check] = []

    def take(check: Check) -> None:
        checks.append(check)
        tell(check)

    with scratch_folder(instance, "verify", keep=keep) as folder:
        rehearsal = Rehearsal(
            folder,
            datasets_dir=instance / "datasets",
            tell=take,
            deadline=began + limit_s,
            is_cancelled=is_cancelled or threading.Event(),
        )
        try:
            rehearsal.run()
        finally:
            rehearsal.end()
    take(_cleaned(rehearsal.survivors, folder, keep=keep, took_s=0.0))
    return {
        "stages": [check.to_json() for check in checks],
        "verdict": worst(check.verdict for check in checks).value,
        "took_s": round(time.monotonic() - began, 2),
        "folder": str(folder) if keep else None,
    }


def _cleaned(survivors: list[int], folder: Path, *, keep: bool, took_s: float) -> Check:
    stage = plan.CLEAN
    if survivors:
        found = f"Processes {', '.join(map(str, survivors))} cannot be ended."
        return Check(stage.id, stage.title, Verdict.PROBLEM, found, "Run the doctor, or reboot.")
    if folder.exists() and not keep:
        found, remedy = f"{folder} cannot be removed.", "Remove it by hand."
        return Check(stage.id, stage.title, Verdict.PROBLEM, found, remedy)
    found = f"No process; everything is kept in {folder}." if keep else "No process, and no file."
    return Check(stage.id, stage.title, Verdict.OK, found, "", {"took_s": took_s})
