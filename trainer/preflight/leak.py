"""Whether what is held out can be seen in training: the same ids or inputs on both sides of the split.

Too good a score is the only sign of a leak later on, and few people distrust one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Examples, Survey
from trainer.preflight.question import Question

TITLE: Final = "Held-out examples seen in training"
HEAD, TAIL = 100, 60  # characters compared; two texts that agree in both are one text
SHOWN: Final = 3
SHOWN_CHARACTERS: Final = 80
MANY, SOME = 0.01, 0.002  # of the held-out examples
_NOT_WORDS: Final = re.compile(r"[\W_]+")


def look(question: Question, survey: Survey) -> list[Check]:
    """Compare both sides."""
    return [] if survey.examples is None else [judge(survey.examples)]


def judge(examples: Examples) -> Check:
    """Judge what both sides share; inputs are compared without case, white space and punctuation."""
    held_out = len(examples.held_out)
    one = examples.words[0]
    same_ids = _shared(examples.ids, examples)
    same_inputs = _shared([_folded(text) for text in examples.inputs], examples)
    leaked = sorted({*same_ids, *same_inputs})
    details = {
        "held_out": held_out,
        "same_id": len(same_ids),
        f"same_{one}": len(same_inputs),
        "examples": [
            {"id": examples.ids[row], one: examples.inputs[row][:SHOWN_CHARACTERS]} for row in leaked[:SHOWN]
        ],
    }
    if same_ids or len(leaked) > MANY * held_out:
        found = f"{len(leaked):,} of {held_out:,} held-out examples are also trained on"
        found += f" (the same id or {one}): the measures would be too good."
        remedy = f"Give examples with the same {one} the same group, so that they stay on one side."
        return Check("leak", TITLE, Verdict.PROBLEM, found, remedy, details)
    if leaked:
        found = f"{len(leaked):,} of {held_out:,} held-out examples have a {one} that is also trained on, "
        found += "but for case and punctuation."
        remedy = f"Give examples with the same {one} the same group."
        verdict = Verdict.WARNING if len(leaked) > SOME * held_out else Verdict.NOTE
        return Check("leak", TITLE, verdict, found, remedy if verdict is Verdict.WARNING else "", details)
    found = f"No id and no {one} of the {held_out:,} held-out examples is trained on."
    return Check("leak", TITLE, Verdict.OK, found, "", details)


def _shared(keys: Sequence[str], examples: Examples) -> list[int]:
    """Held-out rows whose key is that of a row trained on; empty keys say nothing."""
    trained: set[str] = set(_of(keys, examples.train.tolist()))
    return [row for row in examples.held_out.tolist() if keys[row] and keys[row] in trained]


def _of(keys: Sequence[str], rows: Iterable[int]) -> Iterable[str]:
    return (keys[row] for row in rows)


def _folded(text: str) -> str:
    ends = text if len(text) <= HEAD + TAIL else f"{text[:HEAD]} {text[-TAIL:]}"
    return _NOT_WORDS.sub(" ", ends.casefold()).strip()
