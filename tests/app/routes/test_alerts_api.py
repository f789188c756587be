"""``/api/alerts`` and ``/api/settings/webhook`` over HTTP."""

from __future__ import annotations

import time

from app.domain.callers import Scope
from app.domain.run_states import RunState
from app.services.access import issue_api_token
from tests.app.routes.api_rig import Api
from tests.app.webhook_receiver import receiving
from trainer.protocol.batches import Batch
from trainer.protocol.events import Stream

SPIKE = {
    "type": "alert", "category": "loss-spike", "what": "raised", "level": "warning",
    "title": "The loss has jumped", "text": "far", "step": 40, "attempt": 1, "t": 1000.0,
}  # fmt: skip


def raised(api: Api) -> str:
    run_id = api.new_run(name="watched")
    api.move(run_id, RunState.STARTING, RunState.RUNNING)
    api.parts.ingest.accept(Batch(run_id, Stream.SUPERVISOR, 1, 1, [], [{**SPIKE, "seq": 1}]))
    return run_id


def test_an_alert_is_listed_counted_and_dismissed(api: Api) -> None:
    run_id = raised(api)
    [alert] = api.get(f"/api/runs/{run_id}/alerts")["alerts"]
    assert (alert["run_name"], alert["category"], alert["active"]) == ("watched", "loss-spike", True)
    assert api.get("/api/alerts?active=true")["alerts"] == [alert]
    assert api.get("/api/alerts?active=false")["alerts"] == []
    assert api.get(f"/api/runs/{run_id}")["active_alerts"] == 1
    dismissed = api.call("POST", f"/api/alerts/{alert['id']}/dismiss").get_json()
    assert dismissed["active"] is False
    assert api.get(f"/api/runs/{run_id}")["active_alerts"] == 0
    assert api.get("/api/alerts?active=true")["alerts"] == []


def test_what_is_not_there_is_not_found(api: Api) -> None:
    assert api.call("GET", "/api/runs/nope/alerts").status_code == 404
    for unknown in ("77", "x", "-1", "9" * 40):
        assert api.call("POST", f"/api/alerts/{unknown}/dismiss").status_code == 404


def test_the_webhook_is_changed_tried_and_never_tells_its_secret(api: Api) -> None:
    with receiving() as receiver:
        body = {"url": receiver.url, "secret": "hush-hush", "enabled": True, "min_level": "error"}
        changed = api.call("PATCH", "/api/settings/webhook", body)
        assert changed.status_code == 200
        assert (changed.get_json()["url"], changed.get_json()["has_secret"]) == (receiver.url, True)
        assert "hush-hush" not in changed.get_data(as_text=True)
        assert api.get("/api/settings/webhook") == changed.get_json()
        answer = api.call("POST", "/api/settings/webhook/test").get_json()
        assert answer == {"ok": True, "status": 204, "words": "answered 204"}
        assert receiver.messages[0]["category"] == "test"
    answer = api.call("POST", "/api/settings/webhook/test").get_json()
    assert (answer["ok"], answer["words"]) == (False, "nobody listens there")


def test_a_bad_address_is_refused_with_its_field(api: Api) -> None:
    response = api.call("PATCH", "/api/settings/webhook", {"url": "file:///etc/passwd"})
    assert response.status_code == 422
    assert response.get_json()["error"]["field"] == "url"
    assert api.get("/api/settings/webhook")["url"] == ""


def test_a_viewer_sees_alerts_but_neither_dismisses_nor_learns_the_address(api: Api) -> None:
    run_id = raised(api)
    viewer = api.parts.store.write(
        lambda session: issue_api_token(session, scope=Scope.VIEWER, label="test", now=time.time())
    )
    owner, api.token = api.token, viewer
    assert len(api.get(f"/api/runs/{run_id}/alerts")["alerts"]) == 1
    assert api.call("POST", "/api/alerts/1/dismiss").status_code == 403
    assert api.call("GET", "/api/settings/webhook").status_code == 403
    assert api.call("POST", "/api/settings/webhook/test").status_code == 403
    page = api.call("GET", "/settings").get_data(as_text=True)
    assert "Notifications of this browser" in page
    assert "webhook-url" not in page
    api.token = owner
    assert "webhook-url" in api.call("GET", "/settings").get_data(as_text=True)
