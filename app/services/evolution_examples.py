"""What a model answered to one probe, in words a reader and old clients understand.

One function per task turns a probe, its row of the columns and its output into
the fields of an example; a new task is one function in ``_ANSWERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.services.evolution_classification import classification_answer
from app.services.evolution_imported import imported_answer
from app.services.evolution_numbers import is_one, number, share, whole
from app.services.evolution_original import TASK
from app.services.evolution_probes import Documents, Probes
from app.store import snapshot_answers
from app.store.models import Snapshot
from app.store.snapshot_blocks import Answered
from app.store.snapshots import Moment

# Of a probe, its numbers (None where not finite), its output, and the documents known.
Answer = Callable[[dict[str, Any], Mapping[str, float | None], dict[str, Any], Documents], dict[str, Any]]

SHORT_CHARACTERS: Final = 300
# What neither a column of that name nor another field of an output may stand for: scripts name theirs freely.
_NO_NUMBERS: Final = frozenset(
    {
        *("example_id", "index", "step", "input", "expected_output", "group", "gold", "timestamp"),
        *("model_version", "epoch", "cost_s", "model_output", "predicted", "exact_match", "output_length"),
        *("top", "probabilities", "tokens", "is_cut"),
    }
)
_TOLD: Final = (_NO_NUMBERS - {"tokens", "is_cut"}) | {
    *("output", "text", "loss", "similarity", "score", "rank", "margin", "confidence"),
}
_SIMILAR_CHARACTERS: Final = 2_000  # similarity of longer texts is that of their beginnings


def examples_of(
    session: Session, snapshot: Snapshot | Moment, probes: Probes, rows: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """The examples of a snapshot, of all probes in their order, or of these in the order given.

    Similarity of free text is still missing where no column has it: see ``with_similarity``.

    Args:
        session: a reading session.
        snapshot: which one; of its answers only those needed are read.
        probes: the probes it asked.
        rows: positions of probes.
    """
    answered = snapshot_answers.read(session, snapshot, rows)
    wanted = range(len(probes.examples)) if rows is None else rows
    ids = {document_id for row in wanted for document_id in _named(answered[row].output)}
    documents = probes.documents(session, ids)
    return [example_json(probes.examples[row], row, snapshot, answered[row], documents) for row in wanted]


def example_json(
    probe: dict[str, Any], row: int, snapshot: Snapshot | Moment, answered: Answered, documents: Documents
) -> dict[str, Any]:
    """One example: the probe and what was answered to it."""
    return {
        "example_id": probe["example_id"],
        "index": row,
        "step": snapshot.step,
        "input": probe["input"],
        "expected_output": probe["expected_output"],
        "group": probe.get("group"),
        **answer_json(probe, snapshot.task, answered, documents),
    }


def answer_json(probe: dict[str, Any], task: str, answered: Answered, documents: Documents) -> dict[str, Any]:
    """What was answered: the numbers of the columns, and what the task makes of the output."""
    numbers = answered.numbers
    if not _NO_NUMBERS.isdisjoint(numbers):
        numbers = {name: value for name, value in numbers.items() if name not in _NO_NUMBERS}
    found = {**numbers, **_ANSWERS.get(task, _text_answer)(probe, numbers, answered.output, documents)}
    found["loss"] = numbers.get("loss")
    found.pop("correct", None)
    return found


def trajectory_of(
    session: Session, probes: Probes, row: int, way: Sequence[tuple[Moment, Answered]]
) -> list[dict[str, Any]]:
    """What snapshots answered to one probe, in their order."""
    probe = probes.examples[row]
    ids = {document_id for _, one in way for document_id in _named(one.output)}
    documents = probes.documents(session, ids)
    found = [answer_json(probe, moment.task, one, documents) for moment, one in way]
    expected = str(probe["expected_output"])
    for answer in found:
        answer.pop("gold", None)
        with_similarity(answer, expected)
    return found


def answered_texts(session: Session, snapshot: Snapshot | Moment, probes: Probes) -> list[str]:
    """What was answered to each probe, as text: of a retriever title and text of the first document."""
    answered = snapshot_answers.read(session, snapshot)
    outputs = [answered[row].output for row in range(len(probes.examples))]
    if snapshot.task != "retrieval":
        return [_text_of(output) for output in outputs]
    firsts = [named[0] if (named := _named(output)) else "" for output in outputs]
    documents = probes.documents(session, set(firsts))
    return ["\n".join(documents.get(first, (first,))) for first in firsts]


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


def _retrieval_answer(
    probe: dict[str, Any], numbers: Mapping[str, float | None], output: dict[str, Any], documents: Documents
) -> dict[str, Any]:
    gold = probe.get("gold")
    golds = {str(each) for each in gold} if isinstance(gold, list) else {str(gold)}
    known = documents.get
    top = [
        {
            "document_id": document_id,
            "title": known(document_id, (document_id,))[0],
            "score": score if type(score) is float else number(score),  # ten thousand calls less
            "gold": document_id in golds,
        }
        for document_id, score in output.get("top", [])
    ]
    text = documents.get(top[0]["document_id"], ("", ""))[1] if top else ""
    return {
        "model_output": text,
        "exact_match": numbers["rank"] == 1 if "rank" in numbers else is_one(numbers.get("correct")),
        "output_length": len(text),
        "similarity": share(numbers.get("score")),
        "rank": whole(numbers.get("rank"), low=1),
        "margin": numbers.get("margin"),
        "score": numbers.get("score"),
        "gold": gold,
        "top": top,
    }


def _text_answer(
    probe: dict[str, Any], numbers: Mapping[str, float | None], output: dict[str, Any], documents: Documents
) -> dict[str, Any]:
    text = _text_of(output)
    expected = str(probe["expected_output"])
    correct = is_one(numbers["correct"]) if "correct" in numbers else text == expected
    extra = {key: value for key, value in output.items() if key not in _TOLD and key not in numbers}
    told = {"similarity": share(numbers["similarity"])} if "similarity" in numbers else {}
    return {
        **extra,
        "model_output": text,
        "exact_match": correct,
        "output_length": len(text),
        **told,
    }


def _text_of(output: dict[str, Any]) -> str:
    return str(output.get("output", output.get("text", "")))


def _named(output: dict[str, Any]) -> list[str]:
    """Ids of the documents an output names."""
    top = output.get("top", [])
    return [entry[0] for entry in top] if isinstance(top, list) else []


_ANSWERS: Final[dict[str, Answer]] = {
    "retrieval": _retrieval_answer,
    "classification": classification_answer,
    TASK: imported_answer,
}
