"""Runs over REST: shapes, statuses, and errors that name the field."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.domain.run_states import RunState
from tests.app.routes.api_rig import Api

PROMISED = {
    "id", "name", "recipe", "dataset", "params", "state", "step", "total_steps", "epoch", "phase",
    "heartbeat_at", "attempt", "exit_code", "exit_signal", "created_at", "started_at", "ended_at", "device",
}  # fmt: skip
VALID = {"recipe": "two_tower", "dataset": "python_docs"}


def test_a_created_run_answers_201_with_its_location(api: Api) -> None:
    response = api.call("POST", "/api/runs", {**VALID, "params": {"seed": 3}, "tags": ["a"], "name": "first"})
    assert response.status_code == 201
    run = response.get_json()
    assert response.headers["Location"] == f"/api/runs/{run['id']}"
    assert run.keys() >= PROMISED
    assert (run["name"], run["tags"], run["params"]["seed"], run["state"]) == ("first", ["a"], 3, "queued")
    assert api.get(response.headers["Location"]) == run


def test_a_repeated_request_with_a_key_answers_200_with_the_same_run(api: Api) -> None:
    def post(_: int) -> tuple[int, str]:
        client = api.app.test_client()
        response = client.post(
            "/api/runs",
            json=VALID,
            base_url=api.parts.settings.base_url,
            headers={"Authorization": f"Bearer {api.token}", "Idempotency-Key": "same"},
        )
        return response.status_code, response.get_json()["id"]

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(post, range(50)))
    assert sorted(status for status, _ in answers) == [200] * 49 + [201]
    assert len({run_id for _, run_id in answers}) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "recipe"),
        ([], "body"),
        ("x", "body"),
        ({**VALID, "command": "rm"}, "command"),
        ({**VALID, "id": "mine"}, "id"),
        ({**VALID, "state": "finished"}, "state"),
        ({**VALID, "recipe": 5}, "recipe"),
        ({**VALID, "recipe": "rm -rf"}, "recipe"),
        ({**VALID, "dataset": "../../etc/passwd"}, "dataset"),
        ({**VALID, "params": []}, "params"),
        ({**VALID, "params": {"batch_size": "many"}}, "params.batch_size"),
        ({**VALID, "params": {"batch_size": 1.5}}, "params.batch_size"),
        ({**VALID, "params": {"num_epochs": 10**9}}, "params.num_epochs"),
        ({**VALID, "params": {"learning_rat": 1}}, "params.learning_rat"),
        ({**VALID, "name": ""}, "name"),
        ({**VALID, "name": "a\x00b"}, "name"),
        ({**VALID, "name": "x" * 300}, "name"),
        ({**VALID, "tags": ["t"] * 30}, "tags"),
        ({**VALID, "tags": [1]}, "tags.0"),
        ({**VALID, "priority": 10**15}, "priority"),
        ({**VALID, "priority": True}, "priority"),
        ({**VALID, "policy": {"max_attempts": 0}}, "policy.max_attempts"),
        ({**VALID, "policy": {"shell": "x"}}, "policy.shell"),
        ({**VALID, "policy": {"retry_after_s": 0}}, "policy.retry_after_s"),
        ({**VALID, "policy": {"max_attempts": 21}}, "policy.max_attempts"),
        ({**VALID, "policy": {"max_attempts": True}}, "policy.max_attempts"),
        ({**VALID, "policy": {"on_stall": "pray"}}, "policy.on_stall"),
        ({**VALID, "policy": {"stall_after_s": 0.5}}, "policy.stall_after_s"),
        ({**VALID, "policy": {"stall_after_s": "soon"}}, "policy.stall_after_s"),
        ({**VALID, "profile": "fast"}, "profile"),
    ],
)
def test_a_wrong_body_is_a_422_that_names_the_field_and_starts_nothing(
    api: Api, body: object, field: str
) -> None:
    response = api.call("POST", "/api/runs", body)
    assert response.status_code == 422, response.get_data(as_text=True)
    assert response.get_json()["error"]["field"] == field
    assert api.get("/api/runs")["total"] == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"NaN",
        b'{"recipe": NaN}',
        b'{"params": {"seed": 1e999}}',
        b"\xff",
        b"[" * 5000,
        b'"\\ud800"',
    ],
)
def test_what_is_not_json_is_refused_in_words(api: Api, raw: bytes) -> None:
    response = api.client.post(
        "/api/runs",
        data=raw,
        content_type="application/json",
        base_url=api.parts.settings.base_url,
        headers={"Authorization": f"Bearer {api.token}"},
    )
    assert response.status_code == 422
    assert response.get_json()["error"]["field"] == "body"


def test_a_huge_body_is_refused_before_it_is_read(api: Api) -> None:
    response = api.call("POST", "/api/runs", {**VALID, "params": {"x": "y" * 2_000_000}})
    assert response.status_code == 413
    assert response.get_json()["error"]["code"] == "too_large"


@pytest.mark.parametrize(
    "run_id", ["nope", "..", "%2e%2e%2fetc", "%00", "\uff11", "x" * 5000, "'; DROP TABLE runs", "-1"]
)
@pytest.mark.parametrize(
    "rest", ["", "/metrics", "/metrics/train/loss", "/logs", "/attempts", "/checkpoints"]
)
def test_odd_run_ids_are_not_found(api: Api, run_id: str, rest: str) -> None:
    response = api.call("GET", f"/api/runs/{run_id}{rest}")
    assert response.status_code == 404
    assert response.get_json()["error"]["message"]


def test_runs_are_listed_newest_first_filtered_and_paged(api: Api) -> None:
    ids = [api.new_run(name=f"run {n}") for n in range(3)]
    api.call("POST", f"/api/runs/{ids[0]}/stop")
    assert [run["id"] for run in api.get("/api/runs")["runs"]] == ids[::-1]
    page = api.get("/api/runs?limit=1&offset=1")
    assert ([run["id"] for run in page["runs"]], page["total"]) == ([ids[1]], 3)
    assert [run["id"] for run in api.get("/api/runs?state=stopped,failed")["runs"]] == [ids[0]]
    assert [run["id"] for run in api.get("/api/runs?q=RUN%202")["runs"]] == [ids[2]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=odd", "state"),
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("offset=-1", "offset"),
        ("limit=NaN", "limit"),
    ],
)
def test_a_wrong_query_names_its_field(api: Api, query: str, field: str) -> None:
    response = api.call("GET", f"/api/runs?{query}")
    assert response.status_code == 422
    assert response.get_json()["error"]["field"] == field


def test_orders_follow_the_state_of_the_run(api: Api) -> None:
    run_id = api.new_run()
    for order in ("pause", "checkpoint", "snapshot"):
        assert api.call("POST", f"/api/runs/{run_id}/{order}").status_code == 409
    assert api.call("POST", f"/api/runs/{run_id}/stop").get_json()["state"] == "stopped"
    assert api.call("POST", f"/api/runs/{run_id}/stop").status_code == 202
    assert api.call("POST", f"/api/runs/{run_id}/retry").get_json()["state"] == "queued"
    api.move(run_id, RunState.STARTING, RunState.RUNNING)
    refused = api.call("POST", f"/api/runs/{run_id}/pause")
    assert (refused.status_code, refused.get_json()["error"]["code"]) == (503, "unavailable")
    assert api.call("POST", f"/api/runs/{run_id}/kill").get_json()["state"] == "stopping"
    assert api.call("DELETE", f"/api/runs/{run_id}").status_code == 409


def test_a_clone_has_its_own_location(api: Api) -> None:
    run_id = api.new_run(params={"seed": 9})
    response = api.call("POST", f"/api/runs/{run_id}/clone")
    assert response.status_code == 201
    assert response.headers["Location"] != f"/api/runs/{run_id}"
    assert response.get_json()["params"]["seed"] == 9


def test_name_tags_and_priority_can_be_patched_and_nothing_else(api: Api) -> None:
    run_id = api.new_run()
    changed = api.call("PATCH", f"/api/runs/{run_id}", {"name": "new", "priority": -3}).get_json()
    assert (changed["name"], changed["priority"]) == ("new", -3)
    refused = api.call("PATCH", f"/api/runs/{run_id}", {"params": {}})
    assert (refused.status_code, refused.get_json()["error"]["field"]) == (422, "params")


def test_a_deleted_run_is_gone(api: Api) -> None:
    run_id = api.new_run()
    api.call("POST", f"/api/runs/{run_id}/stop")
    response = api.call("DELETE", f"/api/runs/{run_id}?purge=true")
    assert (response.status_code, response.get_data()) == (204, b"")
    assert api.call("GET", f"/api/runs/{run_id}").status_code == 404


def test_the_preview_starts_nothing(api: Api) -> None:
    shown: Any = api.call("POST", "/api/preview", VALID).get_json()
    assert shown["command"]
    assert shown["params"]["num_epochs"]
    assert {one["name"] for one in shown["environment"]} >= {"OMP_NUM_THREADS", "PYTHONUNBUFFERED"}
    assert api.get("/api/runs")["total"] == 0


def test_recipes_and_datasets_are_described(api: Api) -> None:
    (api.parts.settings.instance / "inbox" / "pairs.csv").write_text("query,document\na,b\n")
    described = {one["name"]: one for one in api.get("/api/recipes")["recipes"]}
    assert list(described) == ["two_tower", "text_classification", "causal_lm", "script"]
    recipe = described["two_tower"]
    assert ".npz" in recipe["dataset_endings"]
    assert {"name", "type", "default", "minimum", "maximum", "help"} <= recipe["parameters"][0].keys()
    trained = ["two_tower", "text_classification", "causal_lm"]
    assert [(one["name"], one["kind"], one["recipes"]) for one in api.get("/api/datasets")["datasets"]] == [
        ("python_docs", "builtin", trained),
        ("pairs.csv", "file", [*trained[:2], "script"]),
    ]


def test_nobody_gets_in_without_a_token(api: Api) -> None:
    for rule in api.app.url_map.iter_rules():
        if not rule.rule.startswith("/api/") or "uplink" in rule.rule or "log" in rule.endpoint:
            continue
        path = rule.rule.replace("<path:", "<")
        for name in rule.arguments:
            path = path.replace(f"<{name}>", "x")
        for method in sorted((rule.methods or set()) & {"GET", "POST", "PATCH", "DELETE"}):
            response = api.client.open(path, method=method, base_url=api.parts.settings.base_url)
            assert response.status_code == 401, (method, path)
