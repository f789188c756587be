"""Every dataset and every example has its addresses, whatever it is called; without one it is refused."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from app.errors import InvalidRequest
from app.services.evolution_import import Result, import_tree
from tests.app.original_files import write_tree
from tests.app.routes.api_rig import Api, report_snapshot
from tests.app.rows import snapshot_content

BASE = "/api/evolution"
NAMES = [
    "snapshot", "snapshots", "examples", "compare", "map", "dynamics", "datasets", "neighbors", "latest", "5",
    "a b", "ünï 🙂", "100%", "%2F", "a%2Fexamples%2Fb", "?q=1#x", "a\\b", "a\nb", "...", ".a", "a+b", "a;b=c",
    "<b>",
]  # fmt: skip
EXAMPLES = [
    "5",
    "snapshots",
    "a/b",
    "/a",
    "a//b",
    "https://example.org/x",
    "x/snapshots",
    "x/compare",
    "a\nb",
    "%2F",
]
READINGS = ["snapshots", "snapshot/5", "examples", "dynamics", "compare", "examples/ex_0000"]


def addressed(name: str) -> str:
    """A name as a client writes it into an address."""
    return quote(name, safe="")


@pytest.mark.parametrize("name", NAMES)
def test_every_reading_of_every_name_is_of_that_dataset(api: Api, name: str) -> None:
    for other in ("snapshot", "a"):  # with whose addresses its own could be mistaken
        report_snapshot(api, api.new_run(), 5, num_correct=1, dataset=other)
    run_id = api.new_run()
    report_snapshot(api, run_id, 5, num_correct=2, dataset=name)
    for reading in READINGS:
        found = api.get(f"{BASE}/{addressed(name)}/{reading}")
        assert (found.get("run") or found["snapshots"][0]["run"]) == run_id, reading
    near = api.call("GET", f"{BASE}/{addressed(name)}/snapshot/5/neighbors?example=ex_0000")
    assert (near.status_code, near.get_json()["code"]) == (404, "no_vectors")
    for page in ("", "/compare", "/map", "/dynamics", "/examples/ex_0000"):
        shown = api.call("GET", f"/evolution/{addressed(name)}{page}")
        assert shown.status_code == 200
        island = re.search(r'id="dataset-json">(.*?)</script>', shown.get_data(as_text=True))
        assert island is not None
        assert json.loads(island[1]) == name, page


@pytest.mark.parametrize("name", NAMES)
def test_the_swapped_address_leads_to_every_name(api: Api, name: str) -> None:
    report_snapshot(api, api.new_run(), 5, num_correct=1, dataset=name)
    response = api.call("GET", f"{BASE}/snapshot/{addressed(name)}/5")
    found = api.get(response.headers["Location"]) if response.status_code == 308 else response.get_json()
    assert (found["dataset"], found["training_step"]) == (name, 5)


@pytest.mark.parametrize("example_id", EXAMPLES)
@pytest.mark.parametrize("dataset", ["plain", "snapshot"])
def test_every_example_has_its_address(api: Api, dataset: str, example_id: str) -> None:
    content = snapshot_content(5, dataset=dataset)
    content["probes"]["examples"][1]["example_id"] = example_id
    upload(api, content)
    found = api.get(f"{BASE}/{dataset}/examples/{addressed(example_id)}")
    assert (found["dataset"], found["example_id"], found["previous"]) == (dataset, example_id, "ex_0000")
    assert api.call("GET", f"/evolution/{dataset}/examples/{addressed(example_id)}").status_code == 200


def upload(api: Api, content: dict[str, Any]) -> None:
    """Store a snapshot of a new run."""
    api.parts.ingest.accept_snapshot(api.new_run(), gzip.compress(json.dumps(content).encode()))


@pytest.mark.parametrize("name", ["", " ", ".", "..", "a/..", "/"])
def test_a_name_without_an_address_is_refused_at_upload(api: Api, name: str) -> None:
    with pytest.raises(InvalidRequest, match="dataset must not"):
        upload(api, snapshot_content(5, dataset=name))


@pytest.mark.parametrize("name", ["a/b", "a/examples/b", "x/snapshot/5", "a/compare", "..", "."])
def test_a_name_without_an_address_is_refused_at_import(api: Api, tmp_path: Path, name: str) -> None:
    tree = write_tree(tmp_path / "tree", "toy")
    (outcome,) = import_tree(api.parts.store, tree / "toy", dataset=name)
    assert outcome.result is Result.REFUSED
    assert "--dataset NAME" in outcome.problems[0]
    assert api.get(f"{BASE}/datasets")["datasets"] == []


def test_a_name_with_a_slash_is_no_address(api: Api) -> None:
    report_snapshot(api, api.new_run(), 5, num_correct=1, dataset="b")
    for path in ("/evolution/a%2Fb", "/evolution/a/b", f"{BASE}/a/b/snapshots", f"{BASE}/a%2Fb/compare"):
        assert api.call("GET", path).status_code == 404
