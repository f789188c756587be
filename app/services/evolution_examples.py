"""What a model answered to one probe, in words a reader and old clients understand.

One function per task turns a probe, its row of the columns and its output into
the fields of an example; a new task is one function in ``_ANSWERS``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.services.evolution_classification import classification_answer
from app.services.evolution_imported import imported_answer
from app.services.evolution_original import TASK
from app.store import snapshots
from app.store.models import Snapshot

Documents = Mapping[str, tuple[str, str]]  # id -> title, text
Answer = Callable[[dict[str, Any], Mapping[str, float], dict[str, Any], Documents], dict[str, Any]]

_SIMILAR_CHARACTERS: Final = 2_000  # similarity of longer texts is that of their beginnings


def finite(value: float | None) -> float | None:
    """A number as it is, None where strict JSON has no number."""
    return value if value is not None and math.isfinite(value) else None


def number(raw: object) -> float | None:
    """A stored number; None for anything else, and for NaN and infinities, which are stored as words."""
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return finite(raw)
    return None


def examples_of(
    session: Session, snapshot: Snapshot, *, rows: Iterable[int] | None = None
) -> list[dict[str, Any]]:
    """The examples of a snapshot in the order of its probes.

    Args:
        session: a reading session.
        snapshot: which one; its outputs are read here.
        rows: only these probes, by position.
    """
    probes = snapshots.examples(session, snapshot.probe_set)
    outputs = snapshots.outputs(session, [snapshot.id])[snapshot.id]
    columns = snapshots.columns(session, [snapshot.id])[snapshot.id]
    wanted = range(len(outputs)) if rows is None else list(rows)
    ids = {document_id for row in wanted for document_id in _named(outputs[row])}
    documents = snapshots.documents(session, snapshot.probe_set, ids)
    answer = _ANSWERS.get(snapshot.task, _text_answer)
    found = []
    for row in wanted:
        values = {name: float(column[row]) for name, column in columns.items()}
        probe = probes[row]
        found.append(
            {
                **{name: finite(value) for name, value in values.items() if name != "correct"},
                "example_id": probe["example_id"],
                "index": row,
                "step": snapshot.step,
                "input": probe["input"],
                "expected_output": probe["expected_output"],
                "group": probe.get("group"),
                **answer(probe, values, outputs[row], documents),
                "loss": finite(values.get("loss", math.nan)),
            }
        )
    return found


def is_correct(columns: Mapping[str, NDArray[np.float64]], snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which probes were answered right, one entry per probe.

    Retrieval is right when the gold document comes first; other tasks say so in ``correct``.
    """
    if snapshot.task == "retrieval" and "rank" in columns:
        return np.asarray(columns["rank"] == 1)
    return columns["correct"] >= 1 if "correct" in columns else np.zeros(snapshot.num_examples, np.bool_)


def _retrieval_answer(
    probe: dict[str, Any], values: Mapping[str, float], output: dict[str, Any], documents: Documents
) -> dict[str, Any]:
    gold = probe.get("gold")
    golds = {str(each) for each in gold} if isinstance(gold, list) else {str(gold)}
    top = []
    for document_id, score in output.get("top", []):
        title, _ = documents.get(str(document_id), (str(document_id), ""))
        top.append(
            {
                "document_id": str(document_id),
                "title": title,
                "score": score,
                "gold": str(document_id) in golds,
            }
        )
    text = documents.get(top[0]["document_id"], ("", ""))[1] if top else ""
    rank, score = values.get("rank", math.nan), values.get("score", math.nan)
    return {
        "model_output": text,
        "exact_match": rank == 1 if "rank" in values else values.get("correct", 0.0) >= 1,
        "output_length": len(text),
        "similarity": min(1.0, max(0.0, score)) if math.isfinite(score) else None,
        "rank": int(rank) if math.isfinite(rank) and rank >= 1 else None,
        "margin": finite(values.get("margin")),
        "score": finite(score),
        "gold": gold,
        "top": top,
    }


def _text_answer(
    probe: dict[str, Any], values: Mapping[str, float], output: dict[str, Any], documents: Documents
) -> dict[str, Any]:
    text = str(output.get("output", output.get("text", "")))
    expected = str(probe["expected_output"])
    correct = values["correct"] >= 1 if "correct" in values else text == expected
    shortened = (text[:_SIMILAR_CHARACTERS], expected[:_SIMILAR_CHARACTERS])
    similarity = values.get("similarity", SequenceMatcher(None, *shortened, autojunk=False).ratio())
    extra = {key: value for key, value in output.items() if key not in ("output", "text")}
    return {
        **extra,
        "model_output": text,
        "exact_match": correct,
        "output_length": len(text),
        "similarity": min(1.0, max(0.0, similarity)) if math.isfinite(similarity) else None,
    }


def _named(output: dict[str, Any]) -> list[str]:
    top = output.get("top", [])
    return [str(entry[0]) for entry in top] if isinstance(top, list) else []


_ANSWERS: Final[dict[str, Answer]] = {
    "retrieval": _retrieval_answer,
    "classification": classification_answer,
    TASK: imported_answer,
}
