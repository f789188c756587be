"""Whether warm-up, evaluation and checkpoints fall within the run."""

from __future__ import annotations

from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Outlook, Survey
from trainer.preflight.question import Question

TITLE: Final = "Warm-up, evaluation, checkpoints"
SAFE_STEPS: Final = 200  # a run this short loses little without a checkpoint in between


def look(question: Question, survey: Survey) -> list[Check]:
    """Compare the intervals with the length of the run."""
    outlook = survey.outlook
    return [judge(outlook)] if outlook is not None and outlook.total_steps > 0 else []


def judge(outlook: Outlook) -> Check:
    """Judge intervals in steps."""
    total = outlook.total_steps
    said, remedies = [], []
    if outlook.warmup_steps >= total:
        said.append(
            f"the warm-up of {outlook.warmup_steps:,} steps is as long as the run: the learning rate never "
            "gets to its value"
        )
        remedies.append(f"set warmup_steps to {total // 10:,}")
    if outlook.eval_every > total:
        said.append(f"evaluation is due every {outlook.eval_every:,} steps, so there is one, at the end")
        remedies.append(f"set eval_every to {max(1, total // 5):,}, or to 0 for every epoch")
    if outlook.checkpoint_every > total >= SAFE_STEPS:
        said.append(
            f"checkpoints are due every {outlook.checkpoint_every:,} steps: a death before the end loses all"
        )
        remedies.append(f"set checkpoint_every to {max(1, total // 5):,}, or to 0 for every epoch")
    details = {
        "total_steps": total,
        "warmup_steps": outlook.warmup_steps,
        "eval_every": outlook.eval_every,
        "checkpoint_every": outlook.checkpoint_every,
    }
    if said:
        return Check(
            "intervals", TITLE, Verdict.WARNING, _sentence(said, total), _sentence(remedies), details
        )
    evaluations, saves = total // outlook.eval_every, total // outlook.checkpoint_every
    found = f"{_times(evaluations, 'evaluation')} and {_times(saves, 'checkpoint')} on the way"
    return Check("intervals", TITLE, Verdict.OK, f"{found}.", "", details)


def _times(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _sentence(parts: list[str], total: int | None = None) -> str:
    text = "; ".join(parts)
    head = f"The run has {total:,} steps: {text}" if total is not None else f"{text[0].upper()}{text[1:]}"
    return f"{head}."
