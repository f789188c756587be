"""The examples of snapshots: each probe with what was answered to it.

Answers are stored as finished JSON.  What is only passed on stays that; what
is filtered, cut or compared is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.domain.answer_lines import answer_in, line_of, listed, tells_similarity, without_output
from app.domain.snapshots import IMPORTED
from app.services.evolution_probes import Probes
from app.services.evolution_shapes import facts
from app.store import snapshot_answers
from app.store.models import Snapshot
from app.store.snapshots import Moment

SHORT_CHARACTERS: Final = 300
_SIMILAR_CHARACTERS: Final = 2_000  # similarity of longer texts is that of their beginnings

Rows = Sequence[int]


def examples_of(
    session: Session, snapshot: Snapshot | Moment, probes: Probes, rows: Rows | None = None
) -> list[dict[str, Any]]:
    """The examples of a snapshot, of all probes in their order, or of these in the order given.

    Similarity of free text is still missing where nobody has said it: see ``with_similarity``.

    Args:
        session: a reading session.
        snapshot: which one; of its answers only those needed are read.
        probes: the probes it asked.
        rows: positions of probes.
    """
    is_retrieval = snapshot.task == "retrieval"
    return [
        {**probes.told(row, with_gold=is_retrieval), "step": snapshot.step, **answer_in(line)}
        for row, line in _lines(session, snapshot, probes, rows)
    ]


def finished_examples(
    session: Session, snapshot: Snapshot | Moment, probes: Probes, rows: Rows | None = None
) -> orjson.Fragment:
    """The same with their similarity, as a list of finished JSON."""
    found = _lines(session, snapshot, probes, rows)
    step, fields = b'"step":%d,' % snapshot.step, probes.fields(with_gold=snapshot.task == "retrieval")
    told = _finished(snapshot.task, [line for _, line in found], [probes.examples[row] for row, _ in found])
    return listed((fields[row] + step, one) for (row, _), one in zip(found, told, strict=True))


def finished_way(probes: Probes, row: int, way: Sequence[tuple[Moment, bytes]]) -> orjson.Fragment:
    """What snapshots answered to one probe, in their order, as a list of finished JSON."""
    told = [_finished(moment.task, [line], [probes.examples[row]])[0] for moment, line in way]
    fields = [orjson.dumps({"step": moment.step, **facts(moment)})[1:-1] + b"," for moment, _ in way]
    return listed(zip(fields, told, strict=True))


def answered_texts(session: Session, snapshot: Snapshot | Moment, probes: Probes) -> list[str]:
    """What was answered to each probe, as text: of a retriever title and text of the first document."""
    answers = [answer_in(line) for _, line in _lines(session, snapshot, probes, None)]
    if snapshot.task != "retrieval":
        return [answer["model_output"] for answer in answers]
    return ["\n".join([*(hit["title"] for hit in one["top"][:1]), one["model_output"]]) for one in answers]


def _lines(
    session: Session, snapshot: Snapshot | Moment, probes: Probes, rows: Rows | None
) -> list[tuple[int, bytes]]:
    """The answers to these probes, or to all of them, each with the position of its probe."""
    count = len(probes.ids)
    found = snapshot_answers.read(session, snapshot, rows if rows is not None and len(rows) < count else None)
    return [(row, found[row]) for row in (range(count) if rows is None else rows)]


def _finished(task: str, lines: list[bytes], asked: Sequence[dict[str, Any]]) -> list[bytes]:
    """Answers of one snapshot as they are told; similarity is worked out where nobody has said it."""
    if task == IMPORTED:
        return [without_output(line) for line in lines]
    if not lines or tells_similarity(lines[0]):  # all of a snapshot do, or none
        return lines
    expected = (str(probe["expected_output"]) for probe in asked)
    return [line_of(with_similarity(answer_in(line), one)) for line, one in zip(lines, expected, strict=True)]


def with_similarity(example: dict[str, Any], expected: str | None = None) -> dict[str, Any]:
    """The same example, or answer to what is ``expected``, with how alike the two texts are.

    Where nobody has said it, it is worked out, which is far dearer than the rest: only what is told gets it.
    """
    if "similarity" not in example:
        answer = str(example["model_output"])[:_SIMILAR_CHARACTERS]
        wanted = str(example["expected_output"] if expected is None else expected)[:_SIMILAR_CHARACTERS]
        matcher = SequenceMatcher(None, answer, wanted, autojunk=False)
        example["similarity"] = 1.0 if answer == wanted else matcher.ratio()  # of equal letters it is slow
    return example


def short_form(example: dict[str, Any]) -> dict[str, Any]:
    """An example as a list shows it: texts cut, of found documents the best one, no tokens."""
    short: dict[str, Any] = {
        name: shortened(value) if isinstance(value, str) else value for name, value in example.items()
    }
    short["example_id"] = example["example_id"]
    short.pop("tokens", None)
    if "top" in short:
        short["top"] = [{**best, "title": shortened(best["title"])} for best in short["top"][:1]]
    return short


def shortened(text: str, limit: int | None = SHORT_CHARACTERS) -> str:
    """At most ``limit`` characters, and an ellipsis where some are missing; None: the whole text."""
    return text if limit is None or len(text) <= limit else text[:limit] + "…"


def is_correct(columns: Mapping[str, NDArray[np.float64]], snapshot: Snapshot | Moment) -> NDArray[np.bool_]:
    """Which probes were answered right, one entry per probe.

    Retrieval is right when the gold document comes first; other tasks say so in ``correct``.
    """
    if snapshot.task == "retrieval" and "rank" in columns:
        return np.asarray(columns["rank"] == 1)
    return columns["correct"] >= 1 if "correct" in columns else np.zeros(snapshot.num_examples, np.bool_)
