"""What a model answered to one probe, in words a reader and old clients understand.

One function per task turns a probe, its row of the columns and its output into
the fields of an answer; a new task is one function in ``_ANSWERS``.  An answer
is put into words once, when its snapshot comes, and stored like that: see
``answer_lines``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from app.domain.numbers import is_one, number, share, whole
from app.domain.snapshots import IMPORTED

Documents = Mapping[str, tuple[str, str]]  # id -> title, text
Numbers = Mapping[str, float | None]  # None where not finite
Answer = Callable[[dict[str, Any], Numbers, dict[str, Any], Documents], dict[str, Any]]

# What neither a column of that name nor another field of an output may stand for: scripts name theirs freely.
_NO_NUMBERS: Final = frozenset(
    {
        *("example_id", "index", "step", "input", "expected_output", "group", "gold", "timestamp"),
        *("model_version", "epoch", "cost_s", "model_output", "predicted", "exact_match", "output_length"),
        *("top", "probabilities", "tokens", "is_cut"),
    }
)
_TOLD: Final = (_NO_NUMBERS - {"tokens", "is_cut"}) | {
    *("output", "text", "loss", "similarity", "score", "rank", "margin", "confidence", "correct"),
}


def answer_of(
    probe: dict[str, Any], task: str, numbers: Numbers, output: dict[str, Any], documents: Documents
) -> dict[str, Any]:
    """What was answered: how right it was, the numbers of the columns, and what the task makes of the output.

    ``exact_match``, ``loss`` and, where anybody has said it, ``similarity`` come first, so that they can be
    read without the rest; ``model_output`` follows.
    """
    numbers = {name: value for name, value in numbers.items() if name not in _NO_NUMBERS}
    extra = {key: value for key, value in output.items() if key not in _TOLD and key not in numbers}
    found = {**extra, **numbers, **_ANSWERS.get(task, _text_answer)(probe, numbers, output, documents)}
    found.pop("correct", None)
    first = {"exact_match": found.pop("exact_match"), "loss": numbers.get("loss")}
    if "similarity" in found:
        first["similarity"] = found.pop("similarity")
    return {**first, "model_output": found.pop("model_output"), **found}


def documents_named(outputs: Iterable[dict[str, Any]]) -> set[str]:
    """Ids of the documents that outputs name."""
    return {entry[0] for output in outputs if isinstance(top := output.get("top"), list) for entry in top}


def _retrieval_answer(
    probe: dict[str, Any], numbers: Numbers, output: dict[str, Any], documents: Documents
) -> dict[str, Any]:
    gold = probe.get("gold")
    golds = {str(each) for each in gold} if isinstance(gold, list) else {str(gold)}
    top = [
        {
            "document_id": document_id,
            "title": documents.get(document_id, (document_id,))[0],
            "score": number(score),
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
        "top": top,
    }


def _classification_answer(
    probe: dict[str, Any], numbers: Numbers, output: dict[str, Any], documents: Documents
) -> dict[str, Any]:
    """``probabilities`` come most probable first; ``similarity`` is the probability of the right label."""
    label, gold = str(output.get("output", "")), str(probe["expected_output"])
    return {
        "model_output": label,
        "predicted": label,
        "exact_match": is_one(numbers["correct"]) if "correct" in numbers else label == gold,
        "output_length": len(label),
        "similarity": share(numbers.get("score")),
        "score": numbers.get("score"),
        "margin": numbers.get("margin"),
        "confidence": numbers.get("confidence"),
        "rank": whole(numbers.get("rank"), low=1),
        "probabilities": [
            {"label": name, "probability": number(probability), "gold": name == gold}
            for name, probability in output.get("probabilities", [])
        ],
    }


def _imported_answer(
    probe: dict[str, Any], numbers: Numbers, output: dict[str, Any], documents: Documents
) -> dict[str, Any]:
    """As the original wrote it; its texts may have been cut there, ``output_length`` was not."""
    return {
        "model_output": output["output"],
        "exact_match": is_one(numbers.get("correct")),
        "output_length": output["output_length"],
        "similarity": numbers.get("similarity"),
    }


def _text_answer(
    probe: dict[str, Any], numbers: Numbers, output: dict[str, Any], documents: Documents
) -> dict[str, Any]:
    text = str(output.get("output", output.get("text", "")))
    correct = is_one(numbers["correct"]) if "correct" in numbers else text == str(probe["expected_output"])
    told = {"similarity": share(numbers["similarity"])} if "similarity" in numbers else {}
    return {"model_output": text, "exact_match": correct, "output_length": len(text), **told}


_ANSWERS: Final[dict[str, Answer]] = {
    "retrieval": _retrieval_answer,
    "classification": _classification_answer,
    IMPORTED: _imported_answer,
}
