"""Maps and neighbours over snapshots as supervisors upload them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from app.errors import InvalidRequest, NotFound, NoVectors
from app.services.evolution_map import EvolutionMaps
from app.services.ingest import Ingest
from app.store.engine import Store
from app.store.models import SnapshotVectors
from tests.app.rows import snapshot_file, store_running

RANKS = (1, 3, 1, 2, 5, 1)


def field(vectors_ND: NDArray[Any]) -> dict[str, Any]:
    """The field ``vectors`` of a snapshot file."""
    packed = vectors_ND.astype("<f2").tobytes()
    return {"dim": vectors_ND.shape[1], "dtype": "float16", "base64": base64.b64encode(packed).decode()}


def around(*angles: float) -> NDArray[np.float64]:
    """A vector (N, 3) at each angle, in degrees, of one circle."""
    turned = np.radians(angles)
    return np.stack([np.cos(turned), np.sin(turned), np.zeros(len(angles))], axis=1)


FIRST = around(0, 10, 25, 90, 100, 200)
SECOND = around(0, 80, 25, 90, 100, 200)  # the second one has gone over to the fourth


@pytest.fixture
def run(store: Store, ingest: Ingest) -> str:
    """Three snapshots of six probes; the first has no vectors."""
    store_running(store)
    ingest.accept_snapshot("run-1", snapshot_file(0, ranks=RANKS))
    ingest.accept_snapshot("run-1", snapshot_file(50, ranks=RANKS, vectors=field(FIRST)))
    ingest.accept_snapshot("run-1", snapshot_file(100, ranks=RANKS, vectors=field(SECOND)))
    return "run-1"


def test_a_map_has_a_frame_for_every_snapshot_that_says_where_its_probes_lie(store: Store, run: str) -> None:
    found = EvolutionMaps(store).map("python_docs")
    assert (found["run"], found["method"], found["steps"]) == (run, "pca", [50, 100])
    assert [frame["step"] for frame in found["frames"]] == [50, 100]
    assert found["probes"][1] == {
        "example_id": "ex_0001", "index": 1, "group": "g1", "label": None, "text": "query 1",
    }  # fmt: skip
    assert found["frames"][0]["correct"].tolist() == [int(rank == 1) for rank in RANKS]
    assert found["frames"][0]["disparity"] is None
    assert 0.0 < found["frames"][1]["disparity"] < 0.5
    assert sum(found["explained"]) == pytest.approx(1.0, abs=1e-3)
    (low_x, high_x), (low_y, high_y) = found["bounds"]
    for frame in found["frames"]:
        assert low_x <= frame["x"].min() <= frame["x"].max() <= high_x
        assert low_y <= frame["y"].min() <= frame["y"].max() <= high_y


def test_one_frame_lies_where_it_lies_among_all(store: Store, run: str) -> None:
    maps = EvolutionMaps(store)
    whole = maps.map("python_docs", run=run)
    for step, number in ((50, 0), ("latest", 1), ("first", 0)):
        one = maps.map("python_docs", run=run, step=step, with_probes=False)
        assert (one["steps"], one["probes"], len(one["frames"])) == ([50, 100], [], 1)
        np.testing.assert_array_equal(one["frames"][0]["x"], whole["frames"][number]["x"])
        assert one["version"] == whole["version"]


def test_a_map_is_kept_until_a_snapshot_comes(
    store: Store, ingest: Ingest, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps = EvolutionMaps(store)
    first = maps.map("python_docs")
    with monkeypatch.context() as patch:
        patch.setattr("app.services.evolution_map.project", lambda *_, **__: pytest.fail("drawn twice"))
        assert maps.map("python_docs")["version"] == first["version"]
    ingest.accept_snapshot("run-1", snapshot_file(150, ranks=RANKS, vectors=field(SECOND)))
    later = maps.map("python_docs")
    assert later["steps"] == [50, 100, 150]
    assert later["version"] != first["version"]
    assert later["frames"][2]["disparity"] == pytest.approx(0.0, abs=1e-6)


def test_a_snapshot_that_comes_again_replaces_its_vectors(store: Store, ingest: Ingest, run: str) -> None:
    ingest.accept_snapshot("run-1", snapshot_file(100, ranks=RANKS, vectors=field(FIRST), attempt=2))
    found = EvolutionMaps(store).map("python_docs")
    assert found["frames"][1]["disparity"] == pytest.approx(0.0, abs=1e-6)
    with store.read() as session:
        assert session.query(SnapshotVectors).count() == 2


def test_labels_are_told_of_a_classifier(store: Store, ingest: Ingest) -> None:
    store_running(store)
    ingest.accept_snapshot(
        "run-1", snapshot_file(0, ranks=RANKS, task="classification", vectors=field(FIRST))
    )
    assert EvolutionMaps(store).map("python_docs")["probes"][0]["label"] == "text 0"


def test_without_vectors_there_is_no_map_and_the_remedy_is_told(store: Store, ingest: Ingest) -> None:
    store_running(store)
    ingest.accept_snapshot("run-1", snapshot_file(0, ranks=RANKS))
    with pytest.raises(NoVectors) as caught:
        EvolutionMaps(store).map("python_docs")
    assert caught.value.code == "no_vectors"
    assert "run.snapshot" in (caught.value.hint or "")
    with pytest.raises(NoVectors):
        EvolutionMaps(store).neighbours("python_docs", 0, example_id="ex_0000", k=3)


def test_steps_that_are_not_there_or_have_no_vectors_are_told_apart(store: Store, run: str) -> None:
    maps = EvolutionMaps(store)
    with pytest.raises(NoVectors, match="step 0 has no vectors") as caught:
        maps.map("python_docs", step=0)
    assert "50, 100" in (caught.value.hint or "")
    with pytest.raises(NotFound, match="no snapshot at step 60"):
        maps.map("python_docs", step=60)
    with pytest.raises(NotFound, match="no_such"):
        maps.map("no_such")


def test_neighbours_are_the_nearest_by_angle_nearest_first(store: Store, run: str) -> None:
    found = EvolutionMaps(store).neighbours("python_docs", 50, example_id="ex_0000", k=3)
    assert [one["example_id"] for one in found["neighbors"]] == ["ex_0001", "ex_0002", "ex_0003"]
    assert found["neighbors"][0]["similarity"] == pytest.approx(np.cos(np.radians(10)), abs=1e-3)
    assert found["neighbors"][1]["exact_match"] is True
    assert found["neighbors"][0] | {"similarity": 0} == {
        "example_id": "ex_0001", "index": 1, "similarity": 0, "input": "query 1", "expected_output": "text 1",
        "group": "g1", "exact_match": False,
    }  # fmt: skip
    assert (found["example"]["input"], found["example"]["exact_match"]) == ("query 0", True)
    assert (found["previous_step"], found["churn"], found["entered"], found["left"]) == (None, None, [], [])


def test_who_came_and_who_went_is_told(store: Store, run: str) -> None:
    found = EvolutionMaps(store).neighbours("python_docs", "latest", example_id="ex_0000", k=2)
    assert [one["example_id"] for one in found["neighbors"]] == ["ex_0002", "ex_0001"]
    assert (found["previous_step"], found["churn"]) == (50, 0.0)
    found = EvolutionMaps(store).neighbours("python_docs", 100, example_id="ex_0000", k=1)
    assert (found["entered"], found["left"], found["churn"]) == (["ex_0002"], ["ex_0001"], 1.0)


def test_more_neighbours_than_there_are_are_all_the_others(store: Store, run: str) -> None:
    found = EvolutionMaps(store).neighbours("python_docs", 50, example_id="ex_0005", k=100)
    assert (found["k"], len(found["neighbors"])) == (100, 5)


def test_neighbours_of_nobody_name_who_is_alike(store: Store, run: str) -> None:
    with pytest.raises(NotFound) as caught:
        EvolutionMaps(store).neighbours("python_docs", 50, example_id="ex_00001", k=3)
    assert "ex_0001" in (caught.value.hint or "")


def test_a_block_is_as_good_as_the_whole(store: Store, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = EvolutionMaps(store).neighbours("python_docs", 50, example_id="ex_0003", k=5)
    monkeypatch.setattr("app.services.evolution_neighbours._BLOCK_NUMBERS", 6)
    assert EvolutionMaps(store).neighbours("python_docs", 50, example_id="ex_0003", k=5) == whole


@pytest.mark.parametrize(
    ("change", "place", "word"),
    [
        ({"dim": 0}, "vectors.dim", "1 to 4096"),
        ({"dim": 4097}, "vectors.dim", "4096"),
        ({"dim": True}, "vectors.dim", "whole number"),
        ({"dim": "3"}, "vectors.dim", "whole number"),
        ({"dim": 4}, "vectors.base64", "6 probes of 4 numbers need 48"),
        ({"dtype": "float32"}, "vectors.dtype", "float16"),
        ({"base64": None}, "vectors.base64", "text"),
        ({"base64": "not base64!"}, "vectors.base64", "base64"),
        ({"base64": "\u00fc"}, "vectors.base64", "base64"),
        ({"base64": ""}, "vectors.base64", "holds 0 bytes"),
    ],
)
def test_wrong_vectors_are_refused_by_name(
    store: Store, ingest: Ingest, change: dict[str, Any], place: str, word: str
) -> None:
    store_running(store)
    with pytest.raises(InvalidRequest, match=word) as caught:
        ingest.accept_snapshot("run-1", snapshot_file(0, ranks=RANKS, vectors={**field(FIRST), **change}))
    assert caught.value.field == place


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_vectors_that_are_not_finite_are_refused(store: Store, ingest: Ingest, value: float) -> None:
    store_running(store)
    vectors = FIRST.copy()
    vectors[4, 1] = value
    with pytest.raises(InvalidRequest, match="not finite, for probe 4"):
        ingest.accept_snapshot("run-1", snapshot_file(0, ranks=RANKS, vectors=field(vectors)))
    with pytest.raises(InvalidRequest, match="must be an object"):
        ingest.accept_snapshot("run-1", snapshot_file(0, ranks=RANKS, vectors=[1.0]))


def test_vectors_beyond_all_bounds_are_refused_before_they_are_unpacked(store: Store, ingest: Ingest) -> None:
    store_running(store)
    content = snapshot_file(0, ranks=[1] * 7000, vectors={"dim": 4096, "dtype": "float16", "base64": "A"})
    with pytest.raises(InvalidRequest, match="the limit is 50331648"):
        ingest.accept_snapshot("run-1", content)
