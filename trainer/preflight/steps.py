"""Whether the run would train at all: whole batches, optimizer steps, and what an epoch leaves out."""

from __future__ import annotations

from typing import Any, Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Outlook, Survey
from trainer.preflight.question import Question

TITLE: Final = "Steps"
MAX_LEFT_OUT: Final = 0.2  # of the examples, in every epoch


def look(question: Question, survey: Survey) -> list[Check]:
    """Count what the loop would count."""
    return [judge(survey.outlook)] if survey.outlook is not None else []


def judge(outlook: Outlook) -> Check:
    """Judge the number of steps; a run without one is said to have finished by many a program."""
    effective = outlook.batch_size * outlook.accumulate
    details: dict[str, Any] = {
        "train": outlook.num_train,
        "batch_size": outlook.batch_size,
        "effective_batch": effective,
        "steps_per_epoch": outlook.steps_per_epoch,
        "total_steps": outlook.total_steps,
        "is_estimated": outlook.is_estimated,
    }
    if outlook.batch_size > outlook.num_train:
        found = (
            f"A batch of {outlook.batch_size:,} examples is larger than all {outlook.num_train:,} to train "
            "on: no batch is ever full."
        )
        remedy = f"Lower batch_size to {max(2, outlook.num_train // 4):,} or less, or add examples."
        return Check("steps", TITLE, Verdict.PROBLEM, found, remedy, details)
    if outlook.total_steps < 1:
        return Check(
            "steps",
            TITLE,
            Verdict.PROBLEM,
            "The run has not one optimizer step: it would end without having learnt anything.",
            "Raise the number of epochs or steps, lower batch_size, or add examples.",
            details,
        )
    found = f"{_about(outlook)}{outlook.total_steps:,} optimizer steps, {outlook.steps_per_epoch:,} per epoch"
    found += f", of {effective:,} examples each"
    left_out = 0 if outlook.keeps_rest else outlook.num_train % outlook.batch_size
    if left_out > MAX_LEFT_OUT * outlook.num_train:
        found += f"; {left_out:,} of {outlook.num_train:,} examples are left out of every epoch"
        remedy = f"Set batch_size to a divisor, such as {outlook.num_train // 2:,}, or much lower."
        return Check("steps", TITLE, Verdict.WARNING, f"{found}.", remedy, details)
    if outlook.accumulate > 1 and outlook.accumulate * outlook.batch_size > outlook.num_train:
        found += "; one step takes more batches than an epoch has"
        remedy = "Lower accumulate: every epoch makes one step, and that of fewer examples than asked for."
        return Check("steps", TITLE, Verdict.WARNING, f"{found}.", remedy, details)
    return Check("steps", TITLE, Verdict.OK, f"{found}.", "", details)


def _about(outlook: Outlook) -> str:
    return "About " if outlook.is_estimated else ""
