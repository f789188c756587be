"""The map and the neighbours over HTTP."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from tests.app.routes.api_rig import Api, report_snapshot
from tests.app.rows import snapshot_file

BASE = "/api/evolution/python_docs"


def vectors(count: int, *, seed: int) -> dict[str, Any]:
    """The field ``vectors`` of a snapshot file, eight numbers each."""
    packed = np.random.default_rng(seed).standard_normal((count, 8)).astype("<f2").tobytes()
    return {"dim": 8, "dtype": "float16", "base64": base64.b64encode(packed).decode()}


def report_placed(api: Api, run_id: str, step: int, *, count: int = 12, dataset: str = "python_docs") -> None:
    """Store a snapshot that says where its probes lie."""
    content = snapshot_file(
        step, ranks=[1, 2] * (count // 2), vectors=vectors(count, seed=step), dataset=dataset
    )
    api.parts.ingest.accept_snapshot(run_id, content)


@pytest.fixture
def run_id(api: Api) -> str:
    made = api.new_run()
    report_placed(api, made, 0)
    report_placed(api, made, 10)
    return made


def test_a_map_is_plain_json(api: Api, run_id: str) -> None:
    found = api.get(f"{BASE}/map")
    assert (found["run"], found["steps"], found["method"]) == (run_id, [0, 10], "pca")
    assert found["frames"][0].keys() == {"step", "x", "y", "correct", "disparity"}
    assert [len(found["frames"][1][name]) for name in ("x", "y", "correct")] == [12, 12, 12]
    assert found["frames"][0]["correct"] == [1, 0] * 6
    assert all(round(x, 4) == x for x in found["frames"][1]["x"])
    assert found["probes"][3]["example_id"] == "ex_0003"
    one = api.get(f"{BASE}/map?step=10&probes=false")
    assert (one["frames"], one["probes"]) == ([found["frames"][1]], [])


def test_a_map_that_has_not_changed_is_not_sent_again(api: Api, run_id: str) -> None:
    first = api.call("GET", f"{BASE}/map")
    again = api.call("GET", f"{BASE}/map", If_None_Match=first.headers["ETag"])
    assert (again.status_code, again.get_data()) == (304, b"")
    report_placed(api, run_id, 20)
    assert api.call("GET", f"{BASE}/map", If_None_Match=first.headers["ETag"]).status_code == 200


def test_a_large_map_is_sent_gzipped_to_who_can_read_it(api: Api) -> None:
    made = api.new_run()
    report_placed(api, made, 0, count=3000)
    plain = api.call("GET", f"{BASE}/map")
    packed = api.call("GET", f"{BASE}/map", Accept_Encoding="gzip")
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert len(packed.get_data()) < len(plain.get_data()) / 2
    assert json.loads(gzip.decompress(packed.get_data())) == plain.get_json()


def test_neighbours_come_with_what_changed(api: Api, run_id: str) -> None:
    found = api.get(f"{BASE}/snapshot/latest/neighbors?example=ex_0003&k=4")
    assert (found["step"], found["previous_step"], found["k"]) == (10, 0, 4)
    cosines = [one["similarity"] for one in found["neighbors"]]
    assert cosines == sorted(cosines, reverse=True)
    assert len(cosines) == 4
    assert found["churn"] == len(found["entered"]) / 4
    before = api.get(f"{BASE}/snapshot/0/neighbors?example=ex_0003&k=4")
    ids = [{one["example_id"] for one in each["neighbors"]} for each in (before, found)]
    assert set(found["entered"]) == ids[1] - ids[0]
    assert set(found["left"]) == ids[0] - ids[1]
    assert before["churn"] is None


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("map?step=5", 404, "not_found"),
        ("map?step=-1", 422, "invalid"),
        ("map?step=" + "9" * 30, 404, "not_found"),
        ("map?method=umap", 422, "invalid"),
        ("map?run=nobody", 404, "not_found"),
        ("snapshot/10/neighbors", 422, "invalid"),
        ("snapshot/10/neighbors?example=ex_0003&k=0", 422, "invalid"),
        ("snapshot/10/neighbors?example=ex_0003&k=101", 422, "invalid"),
        ("snapshot/10/neighbors?example=nobody", 404, "not_found"),
        ("snapshot/7/neighbors?example=ex_0003", 404, "not_found"),
        ("snapshot/ten/neighbors?example=ex_0003", 422, "invalid"),
    ],
)
def test_what_is_not_there_is_told_in_words(
    api: Api, run_id: str, address: str, status: int, code: str
) -> None:
    response = api.call("GET", f"{BASE}/{address}")
    assert response.status_code == status
    body = response.get_json()
    assert isinstance(body["error"], str)
    assert body["code"] == code


def test_a_run_without_vectors_says_what_would_give_it_some(api: Api) -> None:
    report_snapshot(api, api.new_run(), 0, num_correct=1)
    for address in ("map", "map?step=0", "snapshot/0/neighbors?example=ex_0000"):
        response = api.call("GET", f"{BASE}/{address}")
        assert response.status_code == 404
        assert response.get_json()["code"] == "no_vectors"
        assert "run.snapshot" in response.get_json()["hint"]


@pytest.mark.parametrize("name", ["map", "neighbors", "a b", "ünï<b>", "100%", "a?b#c"])
def test_any_dataset_name_has_a_map(api: Api, name: str) -> None:
    report_placed(api, api.new_run(), 5, dataset=name)
    plain = api.get("/api/evolution/datasets")["datasets"][0]["name"]
    assert api.get(f"/api/evolution/{quote(plain)}/map")["dataset"] == plain
    near = api.get(f"/api/evolution/{quote(plain)}/snapshot/5/neighbors?example=ex_0001")
    assert near["dataset"] == plain
