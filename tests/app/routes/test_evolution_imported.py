"""Old clients against imported snapshots, through the real routes; and the run that holds them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from app.services.evolution_import import import_tree
from tests.app.original_files import original, write_tree
from tests.app.routes.api_rig import Api

BASE = "/api/evolution"
NAMES = ["toy", "ünï <b> 100%?"]


@pytest.fixture(params=NAMES)
def dataset(request: pytest.FixtureRequest, api: Api, tmp_path: Path) -> str:
    name = str(request.param)
    (outcome,) = import_tree(api.parts.store, write_tree(tmp_path / "tree", name))
    assert outcome.run_id
    return name


def test_the_five_old_addresses_answer_as_before(api: Api, dataset: str) -> None:
    address = f"{BASE}/{quote(dataset)}"
    (entry,) = api.get(f"{BASE}/datasets")["datasets"]
    assert [entry[name] for name in ("name", "snapshot_count", "first_step", "last_step")] == [
        dataset, 3, 0, 100,
    ]  # fmt: skip
    assert entry["path"]
    listed = api.get(f"{address}/snapshots")["snapshots"]
    assert [one["step"] for one in listed] == [0, 10, 100]
    written = original(10, dataset=dataset)
    assert {name: listed[1]["summary"][name] for name in written["summary"]} == written["summary"]
    shown = api.get(f"{address}/snapshot/10")
    assert shown["snapshot_id"] == written["snapshot_id"]
    assert (shown["training_step"], shown["model_version"]) == (10, "training")
    assert [{name: one[name] for name in written["examples"][0]} for one in shown["examples"]] == written[
        "examples"
    ]
    swapped = api.call("GET", f"{BASE}/snapshot/{quote(dataset)}/10")
    assert swapped.status_code == 308
    assert api.get(swapped.headers["Location"])["training_step"] == 10
    assert api.call("GET", f"{address}/snapshot/11").status_code == 404


def test_every_page_and_reading_of_the_imported_run_works(api: Api, dataset: str) -> None:
    run_id = api.get(f"{BASE}/{quote(dataset)}/snapshots")["snapshots"][0]["run"]
    run = api.get(f"/api/runs/{run_id}")
    assert (run["state"], run["recipe"], run["is_resumable"]) == ("finished", "imported", False)
    assert "3 snapshots" in run["reason"]
    readings = [
        rule.rule
        for rule in api.app.url_map.iter_rules()
        if "GET" in (rule.methods or ())
        and rule.rule.startswith("/api/runs/<run_id>")
        and rule.arguments == {"run_id"}
    ]
    assert len(readings) > 8
    for rule in (*readings, "/runs/<run_id>"):
        response = api.call("GET", rule.replace("<run_id>", run_id))
        assert response.status_code < 500, f"{rule}: {response.get_data(as_text=True)}"
    for page in ("", "/compare", "/map", "/dynamics", "/examples/ex_0000"):
        assert api.call("GET", f"/evolution/{quote(dataset)}{page}").status_code == 200


def test_the_imported_run_can_be_deleted_but_not_trained(api: Api, tmp_path: Path) -> None:
    (outcome,) = import_tree(api.parts.store, write_tree(tmp_path / "tree"))
    address = f"/api/runs/{outcome.run_id}"
    assert api.call("POST", f"{address}/resume").status_code == 409
    assert api.call("POST", f"{address}/clone").status_code == 422
    assert api.call("POST", f"{address}/snapshot").status_code == 409
    assert api.call("DELETE", address).status_code == 204
    assert api.get(f"{BASE}/datasets")["datasets"] == []
