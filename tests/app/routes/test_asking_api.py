"""Asking and exports over REST: who may, and what is said where it cannot be done."""

from __future__ import annotations

import pytest

from app.domain.callers import Scope
from app.services.access import issue_api_token
from tests.app.routes.api_rig import Api


def test_a_run_without_a_checkpoint_says_why_it_cannot_be_asked(api: Api) -> None:
    run_id = api.new_run()
    shown = api.get(f"/api/runs/{run_id}/ask")
    assert "not on this machine" in shown["why_not"]
    assert (shown["state"], shown["checkpoints"], shown["doing"]) == ("asleep", [], None)
    assert [part["name"] for part in shown["question"]] == ["query", "count", "among"]
    response = api.call("POST", f"/api/runs/{run_id}/ask", {"question": {"query": "x"}})
    assert response.status_code == 409
    assert response.get_json()["error"]["message"] == shown["why_not"]


@pytest.mark.parametrize(
    "body",
    [{}, {"question": "x"}, {"question": {}, "checkpoint": 5}, {"question": {}, "checkpoint": "9" * 21}],
)
def test_a_body_of_another_shape_is_refused(api: Api, body: object) -> None:
    response = api.call("POST", f"/api/runs/{api.new_run()}/ask", body)
    assert response.status_code == 422


def test_unknown_runs_are_not_found(api: Api) -> None:
    for path in ("ask", "export", "export.zip", "export/config.json"):
        assert api.call("GET", f"/api/runs/nobody/{path}").status_code == 404
    assert api.call("POST", "/api/runs/nobody/ask", {"question": {}}).status_code == 404


def test_a_viewer_may_look_and_download_but_not_ask(api: Api) -> None:
    run_id = api.new_run()
    folder = api.parts.runs.paths(run_id).root / "export"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    token = api.parts.store.write(
        lambda session: issue_api_token(session, scope=Scope.VIEWER, label="v", now=1.0)
    )
    viewer = {"Authorization": f"Bearer {token}"}
    for path in ("ask", "export", "export.zip", "export/config.json"):
        with api.call("GET", f"/api/runs/{run_id}/{path}", **viewer) as response:
            assert (response.status_code, len(response.data) > 0) == (200, True)
    asked = api.call("POST", f"/api/runs/{run_id}/ask", {"question": {"query": "x"}}, **viewer)
    assert asked.status_code == 403
