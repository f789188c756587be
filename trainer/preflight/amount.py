"""Whether there is enough to learn from, and enough to measure with."""

from __future__ import annotations

from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question

TITLE: Final = "Amount of examples"
LEAST_TRAIN: Final = 1000
LEAST_HELD_OUT: Final = 50


def look(question: Question, survey: Survey) -> list[Check]:
    """Count both sides of the split."""
    outlook = survey.outlook
    return [] if outlook is None else [judge(train=outlook.num_train, held_out=outlook.num_held_out)]


def judge(*, train: int, held_out: int) -> Check:
    """Judge the number of examples on each side."""
    said, remedies = [], []
    if train < LEAST_TRAIN:
        said.append(
            f"Only {train:,} examples to train on: the loss will fall, because they can be learnt by heart, "
            "while answers to new questions hardly get better"
        )
        remedies.append(f"add examples, {LEAST_TRAIN:,} at least, or start from a trained model")
    if held_out < LEAST_HELD_OUT:
        share = f"each is worth {100 / held_out:.0f} %" if held_out else "nothing can be measured"
        said.append(f"{'only' if said else 'Only'} {held_out:,} held-out examples: {share} of every measure")
        remedies.append("raise held_out_fraction, or add groups")
    details = {"train": train, "held_out": held_out}
    if said:
        remedy = "; ".join(remedies)
        return Check(
            "amount",
            TITLE,
            Verdict.WARNING,
            f"{'; '.join(said)}.",
            f"{remedy[0].upper()}{remedy[1:]}.",
            details,
        )
    return Check("amount", TITLE, Verdict.OK, f"{train:,} to train on, {held_out:,} held out.", "", details)
