"""Examples that are there several times."""

from __future__ import annotations

from collections import Counter
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Examples, Survey
from trainer.preflight.question import Question

TITLE: Final = "Duplicates"
MANY: Final = 0.05
SHOWN: Final = 3
SHOWN_CHARACTERS: Final = 80


def look(question: Question, survey: Survey) -> list[Check]:
    """Count equal examples and equal outputs."""
    return [] if survey.examples is None else [judge(survey.examples)]


def judge(examples: Examples) -> Check:
    """Judge how much is said twice; equal means equal letter by letter."""
    total = len(examples.ids)
    one, other = examples.words
    counts = Counter(zip(examples.inputs, examples.outputs, strict=True))
    repeated = total - len(counts)
    distinct = len(set(examples.outputs))
    often = [(pair, count) for pair, count in counts.most_common(SHOWN) if count > 1]
    details = {
        "examples": total,
        "repeated": repeated,
        f"distinct_{one}": len(set(examples.inputs)),
        f"distinct_{other}": distinct,
        "most_repeated": [
            {one: pair[0][:SHOWN_CHARACTERS], other: pair[1][:SHOWN_CHARACTERS], "times": count}
            for pair, count in often
        ],
    }
    if distinct == 1 and total > 1:
        found = f"Every one of the {total:,} examples has the same {other}: there is nothing to tell apart."
        remedy = f"Look at the column {other}: it was probably filled by mistake."
        return Check("repetitions", TITLE, Verdict.PROBLEM, found, remedy, details)
    found = f"{repeated:,} of {total:,} examples repeat an earlier one word by word"
    if repeated > MANY * total:
        remedy = "Remove the duplicates: they weigh more than others, and the measures flatter."
        return Check("repetitions", TITLE, Verdict.WARNING, f"{found}.", remedy, details)
    if repeated:
        return Check("repetitions", TITLE, Verdict.NOTE, f"{found}.", "", details)
    return Check("repetitions", TITLE, Verdict.OK, f"None among {total:,} examples.", "", details)
