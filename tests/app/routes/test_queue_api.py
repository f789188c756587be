"""The queue over REST: order, priorities in words, skipping, and clicks from many tabs at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.domain.run_states import RunState
from tests.app.routes.api_rig import Api

MARK = {"state": "stopped"}


def waiting(api: Api) -> list[str]:
    return [one["run"]["id"] for one in api.get("/api/queue")["waiting"]]


def from_tabs(
    api: Api, number: int, method: str, path: str, body: object = None, **headers: str
) -> Counter[int]:
    """The same click from many tabs at once; how often each status was answered."""

    def click(_: int) -> int:
        sent = {
            "Authorization": f"Bearer {api.token}",
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        client = api.app.test_client()
        return client.open(
            path, method=method, json=body, base_url=api.parts.settings.base_url, headers=sent
        ).status_code

    with ThreadPoolExecutor(number) as pool:
        return Counter(pool.map(click, range(number)))


def test_priorities_are_words_or_numbers(api: Api) -> None:
    first = api.new_run()
    second = api.new_run(priority="high")
    assert waiting(api) == [second, first]
    assert api.get(f"/api/runs/{second}")["priority"] == 10
    changed = api.call("PATCH", f"/api/runs/{second}", {"priority": "low"}).get_json()
    assert (changed["priority"], changed["priority_name"]) == (-10, "low")
    assert waiting(api) == [first, second]
    assert api.call("PATCH", f"/api/runs/{second}", {"priority": 7}).get_json()["priority_name"] == "high"


@pytest.mark.parametrize("priority", ["urgent", 101, 1.5, True, None, []])
def test_other_priorities_are_refused_by_name(api: Api, priority: object) -> None:
    response = api.call(
        "POST", "/api/runs", {"recipe": "two_tower", "dataset": "python_docs", "priority": priority}
    )
    assert response.status_code == 422
    assert response.get_json()["error"]["field"] == "priority"


def test_the_order_is_taken_whole_or_not_at_all(api: Api) -> None:
    first, second, third = api.new_run(), api.new_run(), api.new_run()
    assert api.call("POST", "/api/queue/order", {"runs": [third, second, first]}).status_code == 200
    assert waiting(api) == [third, second, first]
    api.call("POST", f"/api/runs/{second}/stop")
    refused = api.call("POST", "/api/queue/order", {"runs": [first, second, third]})
    assert refused.status_code == 409
    assert second in refused.get_json()["error"]["message"]
    assert waiting(api) == [third, first]


def test_skipping_answers_which_run_ends_and_which_follows(api: Api) -> None:
    present, following = api.new_run(), api.new_run()
    api.move(present, RunState.STARTING, RunState.RUNNING)
    told = api.call("POST", "/api/queue/skip", {"run": present})
    assert told.status_code == 202
    answer = told.get_json()
    assert (answer["stopping"]["id"], answer["next"]["id"]) == (present, following)
    assert api.get(f"/api/runs/{present}")["state"] == "stopping"
    assert api.call("POST", "/api/queue/skip", {"run": following}).status_code == 409


def test_a_run_nobody_supervises_is_marked_as_ended(api: Api) -> None:
    run_id = api.new_run()
    api.move(run_id, RunState.STARTING, RunState.LOST)
    body = {"state": "failed", "reason": "the power was gone"}
    run = api.call("POST", f"/api/runs/{run_id}/mark-ended", body).get_json()
    assert (run["state"], run["reason"]) == ("failed", "marked as ended by hand: the power was gone")
    assert api.call("POST", f"/api/runs/{run_id}/mark-ended", body).status_code == 409
    assert api.call("POST", f"/api/runs/{run_id}/mark-ended", {"state": "finished"}).status_code == 422


def prepared(api: Api, *states: RunState) -> str:
    run_id = api.new_run()
    api.move(run_id, *states)
    return run_id


@pytest.mark.parametrize(
    ("states", "method", "path", "body", "statuses", "end"),
    [
        ((), "POST", "/stop", None, {202: 6}, "stopped"),
        ((RunState.STARTING,), "POST", "/stop", None, {202: 6}, "stopping"),
        ((RunState.STARTING, RunState.FAILED), "POST", "/retry", None, {202: 6}, "queued"),
        ((RunState.STARTING, RunState.FINISHED), "POST", "/retry", None, {409: 6}, "finished"),
        ((RunState.STARTING, RunState.LOST), "POST", "/mark-ended", MARK, {200: 1, 409: 5}, "stopped"),
        ((RunState.STOPPED,), "DELETE", "", None, {204: 1, 404: 5}, None),
        ((), "PATCH", "", {"priority": "low"}, {200: 6}, "queued"),
    ],
)  # fmt: skip
def test_the_same_click_from_six_tabs_has_one_effect(
    api: Api,
    states: tuple[RunState, ...],
    method: str,
    path: str,
    body: Any,
    statuses: dict[int, int],
    end: str | None,
) -> None:
    run_id = prepared(api, *states)
    assert from_tabs(api, 6, method, f"/api/runs/{run_id}{path}", body) == statuses
    if end is not None:
        assert api.get(f"/api/runs/{run_id}")["state"] == end


def test_a_double_click_on_run_again_makes_one_run(api: Api) -> None:
    run_id = prepared(api, RunState.STARTING, RunState.FINISHED)
    answers = from_tabs(api, 6, "POST", f"/api/runs/{run_id}/clone", {}, Idempotency_Key="one-click")
    assert answers == {201: 1, 200: 5}
    assert api.get("/api/runs")["total"] == 2


def test_different_clicks_at_once_leave_a_state_that_one_of_them_wanted(api: Api) -> None:
    for _ in range(5):
        run_id = prepared(api, RunState.STARTING, RunState.LOST)
        clicks: list[Callable[[], Counter[int]]] = [
            lambda: from_tabs(api, 2, "POST", f"/api/runs/{run_id}/retry"),  # noqa: B023 - called at once
            lambda: from_tabs(api, 2, "POST", f"/api/runs/{run_id}/mark-ended", {"state": "failed"}),  # noqa: B023
            lambda: from_tabs(api, 2, "POST", f"/api/runs/{run_id}/stop"),  # noqa: B023
        ]
        with ThreadPoolExecutor(3) as pool:
            answers = [one.result() for one in [pool.submit(click) for click in clicks]]
        assert not any(status >= 500 for counter in answers for status in counter)
        assert api.get(f"/api/runs/{run_id}")["state"] in ("queued", "failed", "stopped")
