"""Probes added over REST, row by row; jobs are started where they can be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.app.routes.api_rig import Api, report_snapshot

ROWS = [
    {"input": "how to open a socket", "expected_output": "socket.socket"},
    {"example_id": "mine <b>", "input": "\x1b[31m\u202e", "expected_output": "d2", "group": "g"},
]


@pytest.fixture
def run_id(api: Api) -> str:
    made = api.new_run()
    paths = api.parts.runs.paths(made)
    paths.root.mkdir(parents=True)
    paths.spec.write_text("{}")
    return made


def test_probes_are_added_listed_and_replaced(api: Api, run_id: str) -> None:
    address = f"/api/runs/{run_id}/probes"
    assert api.get(address)["probes"] == []
    made = api.call("POST", address, ROWS)
    assert made.status_code == 201
    assert [one["example_id"] for one in made.get_json()["probes"]] == ["added_0001", "mine <b>"]
    again = api.call("POST", address, {"probes": [{"input": "more", "expected_output": "d3"}]})
    assert [one["example_id"] for one in again.get_json()["probes"]][2:] == ["added_0003"]
    found = api.get(address)
    assert (found["dataset"], len(found["probes"])) == ("python_docs (added probes)", 3)
    assert "document" in found["expects"]
    api.call("POST", f"{address}?replace=true", ROWS[:1])
    assert len(api.get(address)["probes"]) == 1


def test_probes_come_as_json_lines_too(api: Api, run_id: str) -> None:
    response = api.client.post(
        f"/api/runs/{run_id}/probes",
        data="\n".join(json.dumps(row) for row in ROWS).encode(),
        content_type="application/x-ndjson",
        base_url=api.parts.settings.base_url,
        headers={"Authorization": f"Bearer {api.token}"},
    )
    assert response.status_code == 201
    assert len(api.get(f"/api/runs/{run_id}/probes")["probes"]) == 2


@pytest.mark.parametrize(
    ("row", "field", "says"),
    [
        ({"expected_output": "x"}, "probes.1.input", "row 2: input is missing"),
        ({"input": " ", "expected_output": "x"}, "probes.1.input", "is empty"),
        ({"input": 5, "expected_output": "x"}, "probes.1.input", "must be text"),
        ({"input": "a" * 1_000_001, "expected_output": "x"}, "probes.1.input", "1,000,001 characters"),
        ({"input": "a", "expected_output": "x", "label": 1}, "probes.1.label", "is no field"),
        ({"input": "a", "expected_output": "x", "example_id": "added_0001"}, "probes.1.example_id", "taken"),
        ("text", "probes.1", "must be an object"),
        (None, "probes.1", "must be an object"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_added(
    api: Api, run_id: str, row: Any, field: str, says: str
) -> None:
    response = api.call("POST", f"/api/runs/{run_id}/probes", [ROWS[0], row])
    assert response.status_code == 422
    error = response.get_json()["error"]
    assert error["field"] == field
    assert says in error["message"]
    assert api.get(f"/api/runs/{run_id}/probes")["probes"] == []


@pytest.mark.parametrize("body", [{}, {"probes": {}}, 5, "text"])
def test_what_is_no_list_is_refused(api: Api, run_id: str, body: object) -> None:
    assert api.call("POST", f"/api/runs/{run_id}/probes", body).status_code == 422


def test_a_run_without_a_checkpoint_says_so(api: Api, run_id: str) -> None:
    address = f"/api/runs/{run_id}/snapshots"
    assert "no checkpoint yet" in api.get(address)["why_not"]
    assert api.call("POST", address, {}).status_code == 409
    assert api.call("POST", address, {"probes": "others"}).status_code == 422
    assert api.call("POST", f"{address}/cancel").status_code == 202
    assert api.call("GET", "/api/runs/nobody/snapshots").status_code == 404


def test_a_probe_is_taken_away_by_its_id(api: Api, run_id: str) -> None:
    address = f"/api/runs/{run_id}/probes"
    api.call("POST", address, [*ROWS, {"example_id": "a/b c", "input": "x", "expected_output": "y"}])
    left = api.call("DELETE", f"{address}/a%2Fb%20c")
    assert left.status_code == 200
    assert [one["example_id"] for one in left.get_json()["probes"]] == ["added_0001", "mine <b>"]
    assert api.call("DELETE", f"{address}/mine%20%3Cb%3E").status_code == 200
    again = api.call("DELETE", f"{address}/mine%20%3Cb%3E")
    assert again.status_code == 404
    assert "lists them" in again.get_json()["error"]["hint"]
    api.call("DELETE", f"{address}/added_0001")
    assert api.get(address)["probes"] == []
    assert api.get(f"/api/runs/{run_id}/snapshots")["has_added"] is False


def test_the_list_says_whether_they_were_ever_asked(api: Api, run_id: str) -> None:
    assert api.get(f"/api/runs/{run_id}/probes")["has_answers"] is False
    report_snapshot(api, run_id, 10, num_correct=1)
    assert api.get(f"/api/runs/{run_id}/probes")["has_answers"] is False
    report_snapshot(api, run_id, 10, num_correct=1, dataset="python_docs (added probes)")
    assert api.get(f"/api/runs/{run_id}/probes")["has_answers"] is True
