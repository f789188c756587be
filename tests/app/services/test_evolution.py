"""Evolution: shapes old clients read, and what only we tell."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from app.domain.run_states import RunState
from app.domain.snapshots import plain_name
from app.errors import InvalidRequest, NotFound
from app.services.evolution import Evolution
from app.services.ingest import Ingest
from app.store import runs
from app.store.engine import Store
from app.store.models import ProbeSet
from tests.app.rows import (
    as_client_reads,
    events_batch,
    snapshot_content,
    snapshot_file,
    state_of,
    store_running,
)


@pytest.fixture
def evolution(store: Store, ingest: Ingest) -> Evolution:
    """Three snapshots of three probes: one always right, one learned at 50, one forgotten at 100."""
    store_running(store, created_at=1.0)
    for step, ranks in ((0, (1, 9, 1)), (50, (1, 1, 1)), (100, (1, 1, 4))):
        ingest.accept_snapshot("run-1", snapshot_file(step, ranks=ranks))
    return Evolution(store)


def test_datasets_have_the_keys_old_clients_read(evolution: Evolution) -> None:
    (entry,) = evolution.datasets()
    old = {name: entry[name] for name in ("name", "snapshot_count", "first_step", "last_step", "path")}
    assert old == {
        "name": "python_docs", "snapshot_count": 3, "first_step": 0, "last_step": 100,
        "path": "runs/run-1/snapshots",
    }  # fmt: skip


def test_snapshots_come_by_step(evolution: Evolution) -> None:
    found = evolution.snapshots("python_docs")
    assert [(one["step"], one["filename"]) for one in found] == [
        (0, "step_000000.json.gz"), (50, "step_000050.json.gz"), (100, "step_000100.json.gz"),
    ]  # fmt: skip
    assert found[1]["summary"]["accuracy"] == 1.0
    assert found[1]["summary"]["mrr@10"] is None
    assert found[0]["timestamp"] == "2023-11-14T22:13:20+00:00"


def test_a_snapshot_says_what_was_retrieved(evolution: Evolution) -> None:
    found = evolution.snapshot("python_docs", 100)
    assert (found["snapshot_id"], found["training_step"]) == ("python_docs_step_000100", 100)
    assert found["examples"][2] == {
        "example_id": "ex_0002", "index": 2, "step": 100, "input": "query 2", "expected_output": "text 2",
        "model_output": "not it", "loss": 4.0, "exact_match": False, "output_length": 6, "similarity": 0.0,
        "rank": 4, "margin": -2.0, "score": -2.5, "group": "g2", "gold": "d2",
        "top": [
            {"document_id": "other", "title": "another", "score": 0.75, "gold": False},
            {"document_id": "d2", "title": "title 2", "score": 0.5, "gold": True},
        ],
    }  # fmt: skip
    assert found["examples"][0]["exact_match"] is True
    assert found["examples"][0]["model_output"] == "text 0"
    assert found["summary"]["correct"] == 2
    assert (found["previous_step"], found["next_step"]) == (50, None)
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(("step", "expected"), [("first", 0), ("latest", 100), ("best", 50), ("50", 50)])
def test_steps_have_names(evolution: Evolution, step: str, expected: int) -> None:
    assert evolution.snapshot("python_docs", step)["training_step"] == expected


@pytest.mark.parametrize("step", ["-1", "0x10", "\uff11", "1.5", "", "best ", "9" * 400, 10**30])
def test_an_odd_step_is_not_found(evolution: Evolution, step: str | int) -> None:
    with pytest.raises(NotFound):
        evolution.snapshot("python_docs", step)


def test_a_missing_step_names_the_nearest(evolution: Evolution) -> None:
    with pytest.raises(NotFound) as caught:
        evolution.snapshot("python_docs", 60)
    assert "0, 50, 100" in (caught.value.hint or "")
    with pytest.raises(NotFound) as caught:
        evolution.snapshot("python_dogs", 60)
    assert "python_docs" in (caught.value.hint or "")


def test_examples_are_filtered_sorted_searched_and_paged(evolution: Evolution) -> None:
    def ids(**query: Any) -> list[str]:
        return [one["example_id"] for one in evolution.snapshot("python_docs", 0, **query)["examples"]]

    assert ids(filter="incorrect") == ["ex_0001"]
    assert ids(filter="correct", limit=1, offset=1) == ["ex_0002"]
    assert ids(sort="-loss")[0] == "ex_0001"
    assert ids(sort="rank")[-1] == "ex_0001"
    assert ids(q="QUERY 2") == ["ex_0002"]
    assert evolution.snapshot("python_docs", 0, filter="correct", limit=1)["total"] == 2
    with pytest.raises(InvalidRequest, match="loss"):
        ids(sort="colour")


def test_the_history_of_examples_is_told_in_a_word(evolution: Evolution) -> None:
    found = evolution.examples("python_docs")
    told = [(one["category"], one["learned_at"], one["flips"]) for one in found["examples"]]
    assert told == [("learned", 0, 0), ("learned", 50, 1), ("forgotten", None, 1)]
    assert found["counts"] == {
        "learned": 2, "struggling": 0, "not_learned": 0, "forgotten": 1, "flip_flopping": 0,
    }  # fmt: skip
    assert evolution.examples("python_docs", q="query 1")["total"] == 1


def test_one_example_is_followed_through_all_steps(evolution: Evolution) -> None:
    found = as_client_reads(evolution.example("python_docs", "ex_0001"))
    assert [(point["step"], point["rank"], point["loss"]) for point in found["trajectory"]] == [
        (0, 9, 9.0), (50, 1, 1.0), (100, 1, 1.0),
    ]  # fmt: skip
    assert (found["previous"], found["next"]) == ("ex_0000", "ex_0002")
    with pytest.raises(NotFound) as caught:
        evolution.example("python_docs", "ex_9")
    assert "ex_000" in (caught.value.hint or "")


def test_the_search_finds_what_was_answered_at_the_step(evolution: Evolution) -> None:
    def ids(q: str, **asked: Any) -> list[str]:
        listed = evolution.examples("python_docs", q=q, **asked)["examples"]
        if "step" in asked:  # a snapshot is searched as the list is
            step = asked.pop("step")
            assert evolution.snapshot("python_docs", step, q=q, **asked)["total"] == len(listed)
        return [one["example_id"] for one in listed]

    assert ids("not it", step=0) == ["ex_0001"]  # the text of the first document
    assert ids("ANOTHER", step=0) == ["ex_0001"]  # its title
    assert ids("not it", step=50) == []
    assert ids("not it") == ids("not it", step=100) == ["ex_0002"]
    assert ids("not it", step=0, filter="correct") == []
    assert ids("query 1", step=50) == ["ex_0001"]  # what was asked, as ever
    assert ids("score") == []  # names of fields are no answers
    assert evolution.examples("python_docs", q="not it", step=0)["counts"]["learned"] == 1


def test_a_snapshot_that_is_taken_again_is_searched_anew(store: Store, ingest: Ingest) -> None:
    store_running(store)
    texts = snapshot_content(10, task="script", outputs=[{"text": "Straße"}, {"text": "b"}])
    ingest.accept_snapshot("run-1", gzip.compress(json.dumps(texts).encode()))
    evolution = Evolution(store)
    assert evolution.examples("python_docs", q="STRASSE")["total"] == 1
    again = {**texts, "attempt": 2, "outputs": [{"text": "a"}, {"text": "b"}]}
    ingest.accept_snapshot("run-1", gzip.compress(json.dumps(again).encode()))
    assert evolution.examples("python_docs", q="strasse")["total"] == 0


def test_an_example_has_its_neighbours_in_the_list_one_came_from(evolution: Evolution) -> None:
    def beside(example_id: str, **asked: Any) -> tuple[str | None, str | None, int, int]:
        found = evolution.example("python_docs", example_id, **asked)
        return found["previous"], found["next"], found["place"], found["total"]

    assert beside("ex_0001") == ("ex_0000", "ex_0002", 1, 3)
    assert beside("ex_0001", sort="-loss", step=0) == (None, "ex_0000", 0, 3)  # 9, 1, 1
    assert beside("ex_0002", sort="-loss") == (None, "ex_0000", 0, 3)  # 1, 1, 4
    assert beside("ex_0001", category="learned") == ("ex_0000", None, 1, 2)
    assert beside("ex_0000", filter="correct", step=0) == (None, "ex_0002", 0, 2)
    assert beside("ex_0001", q="query 1") == (None, None, 0, 1)
    assert beside("ex_0001", group="g1") == (None, None, 0, 1)
    assert beside("ex_0001", category="forgotten") == ("ex_0000", "ex_0002", 1, 3)  # it is not in that list
    with pytest.raises(InvalidRequest, match="category"):
        beside("ex_0001", category="odd")


def test_two_steps_are_compared(evolution: Evolution) -> None:
    found = evolution.compare("python_docs", "first", "latest")
    assert found["counts"] == {"fixed": 1, "broken": 1, "still_right": 1, "still_wrong": 0}
    (fixed,) = found["fixed"]
    assert (fixed["example_id"], fixed["from"]["rank"], fixed["to"]["rank"]) == ("ex_0001", 9, 1)


def test_a_comparison_is_a_sentence_and_the_largest_change_comes_first(store: Store, ingest: Ingest) -> None:
    store_running(store)
    ingest.accept_snapshot("run-1", snapshot_file(500, ranks=(5, 2, 1, 9, 1)))
    ingest.accept_snapshot("run-1", snapshot_file(1000, ranks=(1, 1, 3, 1, 1)))
    evolution = Evolution(store)
    found = evolution.compare("python_docs", 500, 1000)
    changes = [
        one["change"] for name in ("fixed", "broken", "still_right", "still_wrong") for one in found[name]
    ]
    assert found["losses"] == {
        "fell": sum(change is not None and change < 0 for change in changes),
        "rose": sum(change is not None and change > 0 for change in changes),
    }
    assert found["losses"]["fell"] > 0
    assert found["sentence"] == (
        "3 fixed, 1 broken, 1 still right, 0 still wrong between step 500 and step 1,000."
    )
    assert [(one["index"], one["change"]) for one in found["fixed"]] == [(3, -8.0), (0, -4.0), (1, -1.0)]
    in_order = evolution.compare("python_docs", 500, 1000, sort="-index")["fixed"]
    assert [one["index"] for one in in_order] == [3, 1, 0]
    with pytest.raises(InvalidRequest, match="change"):
        evolution.compare("python_docs", 500, 1000, sort="colour")


def test_two_runs_compare_when_they_asked_the_same(
    evolution: Evolution, store: Store, ingest: Ingest
) -> None:
    store_running(store, "run-2", created_at=2.0)
    ingest.accept_snapshot("run-2", snapshot_file(50, ranks=(7, 1, 7)))
    found = evolution.compare("python_docs", 50, 50, run="run-1", run_to="run-2")
    assert (found["run"], found["run_to"], found["to"]["run"]) == ("run-1", "run-2", "run-2")
    assert found["counts"] == {"fixed": 0, "broken": 2, "still_right": 1, "still_wrong": 0}
    assert found["sentence"].endswith("between step 50 of run run-1 and step 50 of run run-2.")
    store_running(store, "run-3", created_at=3.0)
    ingest.accept_snapshot("run-3", snapshot_file(50, ranks=(1, 1)))
    with pytest.raises(InvalidRequest, match="different probes") as caught:
        evolution.compare("python_docs", 50, 50, run="run-1", run_to="run-3")
    assert caught.value.field == "run_to"


def test_an_example_knows_what_became_of_it_like_the_list(evolution: Evolution) -> None:
    for listed in evolution.examples("python_docs")["examples"]:
        alone = as_client_reads(evolution.example("python_docs", listed["example_id"]))
        shared = listed.keys() & alone.keys()
        assert {"category", "num_forgotten", "confidence", "variability", "learned_at"} <= shared
        assert {name: alone[name] for name in shared} == {name: listed[name] for name in shared}
        right = "".join(str(int(point["exact_match"])) for point in alone["trajectory"])
        assert (right, [point["loss"] for point in alone["trajectory"]]) == (listed["right"], listed["trail"])


def test_the_list_of_examples_is_cut_sorted_and_counted(evolution: Evolution) -> None:
    def ids(**asked: Any) -> list[int]:
        return [one["index"] for one in evolution.examples("python_docs", **asked)["examples"]]

    assert ids(category="forgotten") == [2]
    assert ids(group="g1") == [1]
    assert ids(sort="-learned_at") == [1, 0, 2], "what has no such step comes last"
    assert ids(sort="learned_at", offset=1, limit=1) == [1]
    assert ids(sort="-example_id") == [2, 1, 0]
    assert ids(sort="loss_change") == [1, 0, 2]
    found = evolution.examples("python_docs", category="learned", group="g2")
    assert (found["total"], found["counts"]["forgotten"]) == (0, 1), "counts regard all categories"
    assert found["groups"] == [{"name": f"g{n}", "count": 1} for n in range(3)]
    for asked in ({"sort": "colour"}, {"category": "lost"}):
        with pytest.raises(InvalidRequest):
            ids(**asked)


def test_a_new_snapshot_is_seen_at_once(evolution: Evolution, ingest: Ingest) -> None:
    assert evolution.examples("python_docs")["steps"] == [0, 50, 100]
    ingest.accept_snapshot("run-1", snapshot_file(150, ranks=(1, 1, 1)))
    found = evolution.examples("python_docs")
    assert (found["steps"], found["counts"]["learned"]) == ([0, 50, 100, 150], 3)
    ingest.accept_snapshot("run-1", snapshot_file(150, ranks=(2, 1, 1), attempt=2))
    assert evolution.examples("python_docs")["counts"]["forgotten"] == 1


def test_dynamics_name_who_stands_out(evolution: Evolution) -> None:
    found = evolution.dynamics("python_docs")
    assert [(one["right"], one["learned"], one["forgotten"]) for one in found["by_step"]] == [
        (2, 0, 0), (3, 1, 0), (2, 0, 1),
    ]  # fmt: skip
    assert (found["last_learned"], found["most_forgotten"]) == (["ex_0001"], ["ex_0002"])
    assert found["hardest"] == ["ex_0001", "ex_0002", "ex_0000"]
    assert found["examples"][1]["confidence"] == pytest.approx(
        (math.exp(-9) + 2 * math.exp(-1)) / 3, rel=1e-3
    )
    json.dumps(found, allow_nan=False)


def test_probes_that_were_stored_anew_are_read_anew(store: Store, ingest: Ingest) -> None:
    evolution = Evolution(store)
    for number, word in enumerate(("before", "after"), start=1):
        store_running(store, f"run-{number}", created_at=float(number))
        content = snapshot_content(0)
        content["probes"]["examples"][0]["input"] = word
        ingest.accept_snapshot(f"run-{number}", gzip.compress(json.dumps(content).encode()))
        assert evolution.snapshot("python_docs", 0)["examples"][0]["input"] == word
        store.write(partial(runs.transition, run_id=f"run-{number}", new=RunState.FINISHED))
        store.write(partial(runs.delete, run_id=f"run-{number}"))


def test_the_newest_run_is_meant_unless_one_is_named(
    evolution: Evolution, store: Store, ingest: Ingest
) -> None:
    store_running(store, "run-2", created_at=2.0)
    ingest.accept_snapshot("run-2", snapshot_file(7, ranks=(1, 2, 3)))
    assert [one["step"] for one in evolution.snapshots("python_docs")] == [7]
    assert len(evolution.snapshots("python_docs", run="run-1")) == 3
    assert evolution.datasets()[0]["runs"] == ["run-2", "run-1"]
    with pytest.raises(NotFound):
        evolution.snapshots("python_docs", run="run-3")


def test_snapshots_beyond_a_later_attempts_first_step_are_left_out(
    evolution: Evolution, ingest: Ingest
) -> None:
    ingest.accept(
        events_batch(
            1,
            {"type": "attempt", "what": "started", "attempt": 1, "from_step": 0},
            {"type": "attempt", "what": "started", "attempt": 2, "from_step": 50},
        )
    )
    assert [one["step"] for one in evolution.snapshots("python_docs")] == [0, 50]
    ingest.accept_snapshot("run-1", snapshot_file(100, ranks=(1, 1, 1), attempt=2))
    assert evolution.snapshot("python_docs", 100)["summary"]["accuracy"] == 1.0


def test_deleting_the_last_run_takes_probes_and_documents_along(evolution: Evolution, store: Store) -> None:
    store.write(lambda s: runs.transition(s, "run-1", new=RunState.FINISHED))
    store.write(lambda s: runs.delete(s, "run-1"))
    with store.read() as session:
        assert session.query(ProbeSet).count() == 0
    assert evolution.datasets() == []
    with pytest.raises(NotFound):
        state_of(store)


@pytest.mark.parametrize(
    ("dataset", "name"), [("python_docs", "python_docs"), ("/data/pairs.jsonl", "pairs"), ("a.b", "a.b")]
)
def test_a_path_goes_by_its_stem(dataset: str, name: str) -> None:
    assert plain_name(dataset) == name


def test_an_empty_store_has_no_datasets(store: Store) -> None:
    evolution = Evolution(store)
    assert evolution.datasets() == []
    calls: list[Callable[[], object]] = [
        lambda: evolution.snapshots("x"),
        lambda: evolution.examples("x"),
        lambda: evolution.compare("x", 0, 1),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            call()
