"""Examples of snapshots: finished JSON and what is parsed say the same, and numbers stay true."""

from __future__ import annotations

import math
from difflib import SequenceMatcher
from typing import Any

import pytest

from app.services import evolution_examples
from app.services.evolution import Evolution
from app.services.evolution_shapes import PROBE
from app.services.ingest import Ingest
from app.store.engine import Store
from tests.app.rows import as_client_reads, snapshot_file, store_running


@pytest.mark.parametrize("task", ["retrieval", "classification", "causal_lm", "script"])
@pytest.mark.parametrize(
    "columns", [{"loss": [0.5, "NaN", 2]}, {"loss": [1, 2, 3], "similarity": [0, 1, 0.5]}]
)
def test_finished_json_says_the_same(
    store: Store, ingest: Ingest, task: str, columns: dict[str, list[Any]]
) -> None:
    store_running(store)
    outputs = [{"output": 'te,"x"\t 1', "top": [[f"d{row}", 0.5]], "own": row} for row in range(3)]
    for step in (0, 50):
        taken = snapshot_file(step, ranks=(1, 9, 1), task=task, outputs=outputs, columns=columns)
        ingest.accept_snapshot("run-1", taken)
    evolution = Evolution(store)
    asked: list[dict[str, Any]] = [
        {}, {"limit": 2}, {"sort": "-loss"}, {"sort": "similarity"}, {"rows": [2, 0]}, {"is_short": True},
        {"filter": "correct"}, {"q": "te"}, {"offset": 9},
    ]  # fmt: skip
    for wish in asked:
        plain = evolution.snapshot("python_docs", 50, **wish)
        assert as_client_reads(evolution.snapshot("python_docs", 50, finished=True, **wish)) == plain
    for row, example_id in ((0, "ex_0000"), (2, "ex_0002")):
        way = as_client_reads(evolution.example("python_docs", example_id))["trajectory"]
        for step, told in zip((0, 50), way, strict=True):
            in_snapshot = evolution.snapshot("python_docs", step)["examples"][row]
            assert {name: told[name] for name in told.keys() & in_snapshot.keys()} == {
                name: value for name, value in in_snapshot.items() if name not in (*PROBE, "gold")
            }


def test_similarity_is_worked_out_only_for_what_is_told(
    store: Store, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_running(store)
    outputs = [{"output": f"text {row} but longer"} for row in range(30)]
    content = snapshot_file(
        3,
        ranks=[1] * 30,
        task="causal_lm",
        outputs=outputs,
        columns={"loss": [1.0] * 30, "correct": [0] * 30},
    )
    ingest.accept_snapshot("run-1", content)
    compared = []
    plain = SequenceMatcher

    def counted(*texts: Any, **how: Any) -> Any:
        compared.append(texts)
        return plain(*texts, **how)

    monkeypatch.setattr(evolution_examples, "SequenceMatcher", counted)
    found = Evolution(store).snapshot("python_docs", 3, limit=2, q="text", sort="-loss")
    assert (found["total"], len(compared)) == (30, 2)
    assert 0 < found["examples"][0]["similarity"] < 1


def test_a_text_task_is_compared_by_its_words(store: Store, ingest: Ingest) -> None:
    store_running(store)
    outputs = [{"output": "text 0"}, {"output": "NaN"}]
    columns = {"loss": [0.5, math.pi], "correct": [1, 0]}
    content = snapshot_file(3, task="causal_lm", outputs=outputs, columns=columns)
    ingest.accept_snapshot("run-1", content)
    right, wrong = Evolution(store).snapshot("python_docs", 3)["examples"]
    assert (right["exact_match"], right["similarity"], right["output_length"]) == (True, 1.0, 6)
    assert (wrong["exact_match"], wrong["model_output"]) == (False, "NaN")


def test_missing_numbers_become_null(store: Store, ingest: Ingest) -> None:
    store_running(store)
    columns = {"loss": ["NaN", 1.0], "rank": [None, 2.0], "score": ["Infinity", 0.5]}
    ingest.accept_snapshot("run-1", snapshot_file(0, columns=columns))
    first = Evolution(store).snapshot("python_docs", 0, sort="loss")["examples"][-1]
    assert (first["loss"], first["rank"], first["similarity"], first["score"]) == (None, None, None, None)
