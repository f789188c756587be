"""Answers in the words they are told in, and the lines they are written down as."""

from __future__ import annotations

import math
from typing import Any

import orjson
import pytest

from app.domain.answer_lines import (
    answer_in,
    front_of,
    lines_of,
    listed,
    tells_similarity,
    without_output,
    written_in,
)
from app.domain.answers import answer_of, documents_named

PROBE = {"example_id": "a", "input": "q", "expected_output": "b", "gold": ["d1", "d2"]}
NASTY = 'a tab\t, a line\n and ,"model_output":"x","similarity":1 \u2028'


def test_a_classifiers_answer_has_its_label_and_the_probability_of_the_right_one() -> None:
    found = answer_of(
        PROBE,
        "classification",
        {"correct": 0.0, "score": 0.25, "margin": -0.5, "rank": 2.0, "confidence": 0.75},
        {"output": "a", "probabilities": [["a", 0.75], ["b", 0.25]]},
        {},
    )
    told = found["model_output"], found["exact_match"], found["similarity"], found["rank"]
    assert told == ("a", False, 0.25, 2)
    assert [(one["label"], one["gold"]) for one in found["probabilities"]] == [("a", False), ("b", True)]


def test_a_retrievers_answer_is_the_text_of_its_first_document() -> None:
    output = {"top": [["d2", 0.5], ["gone", "NaN"]], "note": "kept"}
    found = answer_of(PROBE, "retrieval", {"rank": 1.0, "score": 7.0}, output, {"d2": ("title", "text")})
    assert (found["model_output"], found["exact_match"], found["similarity"]) == ("text", True, 1.0)
    assert found["top"] == [
        {"document_id": "d2", "title": "title", "score": 0.5, "gold": True},
        {"document_id": "gone", "title": "gone", "score": None, "gold": False},
    ]
    assert found["note"] == "kept"
    assert documents_named([output, {}, {"top": None}]) == {"d2", "gone"}


@pytest.mark.parametrize("task", ["retrieval", "classification", "causal_lm", "anything"])
def test_a_script_cannot_name_a_field_what_readers_take_for_another(task: str) -> None:
    numbers = {"index": 7.0, "exact_match": 7.0, "model_output": 7.0, "loss": 0.5, "correct": 1.0, "own": 3.0}
    output: dict[str, Any] = {
        "output": "x",
        "step": 9,
        "exact_match": "?",
        "loss": 9,
        "tokens": [["b", -1.0]],
    }
    found = answer_of(PROBE, task, numbers, output, {})
    assert {"index", "step", "correct"}.isdisjoint(found)
    assert (found["exact_match"], found["loss"], found["own"]) == (True, 0.5, 3.0)
    assert found["tokens"] == [["b", -1.0]]


@pytest.mark.parametrize(
    ("task", "columns", "output"),
    [
        ("retrieval", {"loss": [0.25], "rank": [1.0], "score": [0.5]}, {"top": [["d1", 0.5]]}),
        ("causal_lm", {"loss": [math.nan], "similarity": [0.5]}, {"output": NASTY, NASTY: [NASTY]}),
        ("causal_lm", {}, {"output": NASTY, "own": {"similarity": 1}}),
        (
            "imported",
            {"loss": [math.inf], "correct": [1.0]},
            {"output": NASTY, "loss": "Infinity", "output_length": 9, "similarity": "NaN"},
        ),
    ],
)
def test_a_line_gives_back_the_answer_its_front_and_what_was_written(
    task: str, columns: dict[str, list[float]], output: dict[str, Any]
) -> None:
    (line,) = lines_of(task, [PROBE], columns, [output], {})
    assert b"\n" not in line
    numbers = {name: value if math.isfinite(value) else None for name, (value,) in columns.items()}
    answer = answer_of(PROBE, task, numbers, output, {})
    assert answer_in(line) == answer
    front = front_of(line)
    assert front == {name: answer[name] for name in ("exact_match", "loss", "similarity") if name in answer}
    assert tells_similarity(line) == ("similarity" in answer)
    told = [(b'"step":%d,' % step, without_output(line)) for step in (0, 5)]
    for some in ([], told[:1], told):
        together = orjson.loads(orjson.dumps({"all": listed(some)}))["all"]
        assert together == [{"step": step, **answer} for step in (0, 5)][: len(some)]
    if task == "imported":
        assert written_in(line) == output
