"""How long the run will take: by a smoke run, by an earlier run like it, or by its arithmetic."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from trainer.environment.cores import usable_cores
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Outlook, Pace, Survey
from trainer.preflight.question import Question
from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec

TITLE: Final = "Time"
LONG_S: Final = 24 * 3600.0
NUM_EARLIER: Final = 30  # newest runs looked at
# What does not change the time of a step; every other parameter may.
WITHOUT_WEIGHT: Final = frozenset({
    "num_epochs", "max_steps", "seed", "learning_rate", "embedding_learning_rate", "temperature",
    "weight_decay", "max_grad_norm", "warmup_steps", "schedule", "min_lr_fraction", "keep_checkpoints",
    "best_metric", "patience",
})  # fmt: skip
LEAST_STEPS: Final = 20  # a shorter run says little about the time of a step
MATRIX: Final = 256
TRIALS: Final = 12
START_S: Final = 8.0  # loading libraries and dataset
FASTEST, SLOWEST = 1.0, 3.0  # a step takes so many times what its multiplications alone would take


@dataclass(frozen=True)
class Earlier:
    """A run like the one wanted: its id, and seconds per step with everything in them."""

    run_id: str
    step_s: float


def look(question: Question, survey: Survey) -> list[Check]:
    """Take the best knowledge there is."""
    outlook = survey.outlook
    if outlook is None or outlook.total_steps < 1:
        return []
    if outlook.pace is not None:
        return [of_pace(outlook, outlook.pace)]
    earlier = earlier_run(question)
    if earlier is not None:
        seconds = START_S + earlier.step_s * outlook.total_steps
        found = f"About {words(seconds)}, at the pace of run {earlier.run_id}, which was like this one."
        return [_check(found, seconds, {"like_run": earlier.run_id, "step_s": earlier.step_s})]
    if outlook.step_flop > 0 and question.device in ("auto", "cpu"):
        threads = max(1, usable_cores() // question.num_concurrent)
        return [of_arithmetic(outlook, flop_per_s=threads * measure_flop_per_cpu_s())]
    found = "Not known: no run like this one has ended here. A smoke run measures it."
    return [Check("duration", TITLE, Verdict.NOTE, found)]


def of_pace(outlook: Outlook, pace: Pace) -> Check:
    """The whole run at a measured pace."""
    steps = outlook.total_steps
    evaluations = 1 + steps // max(1, outlook.eval_every)
    saves = 1 + steps // max(1, outlook.checkpoint_every)
    parts = {
        "loading_s": pace.load_s,
        "training_s": pace.step_s * steps,
        "evaluating_s": pace.evaluate_s * evaluations,
        "saving_s": pace.save_s * saves,
    }
    seconds = sum(parts.values())
    found = f"About {words(seconds)}: {steps:,} steps of {_short(pace.step_s)}, as the smoke run measured."
    return _check(found, seconds, {name: round(value, 3) for name, value in parts.items()})


def of_arithmetic(outlook: Outlook, *, flop_per_s: float) -> Check:
    """A range from what the steps must multiply and what this machine multiplies per second."""
    training_s = outlook.step_flop * outlook.total_steps / flop_per_s
    least, most = START_S + FASTEST * training_s, START_S + SLOWEST * training_s
    found = f"Roughly {words(least)} to {words(most)}, reckoned from the model's arithmetic on the CPU; a "
    found += "smoke run measures it."
    details = {"step_flop": outlook.step_flop, "flop_per_s": flop_per_s}
    return _check(found, least, details)


def measure_flop_per_cpu_s() -> float:
    """Float32 multiplications and additions per second of one core, in a few ms of its own."""
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((MATRIX, MATRIX), dtype=np.float32)
    best = float("inf")
    for _ in range(TRIALS):
        began = time.process_time()
        _ = matrix @ matrix
        best = min(best, time.process_time() - began)
    return 2.0 * MATRIX**3 / max(best, 1e-6)


def earlier_run(question: Question) -> Earlier | None:
    """The newest ended run of the same recipe, dataset and weighty parameters."""
    try:
        folders = sorted(question.runs_dir.iterdir(), key=lambda path: path.name, reverse=True)
    except OSError:
        return None
    for folder in folders[:NUM_EARLIER]:
        found = _like(question, folder)
        if found is not None:
            return found
    return None


def _like(question: Question, folder: Path) -> Earlier | None:
    paths = RunPaths(folder)
    try:
        spec, record = RunSpec.load(paths), ExitRecord.load(paths)
    except ProtocolError:
        return None
    same = (spec.recipe, spec.dataset, spec.profile) == (question.recipe, question.dataset, question.profile)
    if record is None or not same or _weighty(spec.params) != _weighty(question.params):
        return None
    if record.attempt > 1 or record.step < LEAST_STEPS:
        return None
    return Earlier(spec.run_id, max(0.0, record.ended_at - record.started_at - START_S) / record.step)


def _weighty(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in WITHOUT_WEIGHT}


def _check(found: str, seconds: float, details: dict[str, Any]) -> Check:
    details = {"seconds": round(seconds, 1), **details}
    if seconds > LONG_S:
        remedy = (
            "Train fewer epochs, on fewer examples or with a smaller model, if that is longer than you want."
        )
        return Check("duration", TITLE, Verdict.WARNING, found, remedy, details)
    return Check("duration", TITLE, Verdict.OK, found, "", details)


def words(seconds: float) -> str:
    """``95`` becomes ``2 minutes``; never more exact than an estimate can be."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} minutes"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} hours"
    return f"{round(seconds / 86400):,} days"


def _short(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
