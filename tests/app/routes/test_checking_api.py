"""Preflight and rehearsal over REST: owners only, wrong values named, red runs refused on request."""

from __future__ import annotations

import pytest

from app.domain.callers import Scope
from app.services.access import issue_api_token
from tests.app.routes.api_rig import Api

RUN = {"recipe": "two_tower", "dataset": "python_docs"}


@pytest.mark.process
def test_a_red_run_is_refused_where_it_was_asked_for_and_queued_otherwise(api: Api) -> None:
    api.parts.preflight.start()
    red = {**RUN, "params": {"batch_size": 16_000, "max_pairs": 100}}
    report = api.call("POST", "/api/preflight", red).get_json()
    assert report["verdict"] == "problem"
    refused = api.call("POST", "/api/runs", {**red, "preflight": "require"})
    error = refused.get_json()["error"]
    assert (refused.status_code, error["code"]) == (422, "preflight")
    assert [check["id"] for check in error["checks"]] == ["steps"]
    assert api.get("/api/runs")["total"] == 0
    assert api.call("POST", "/api/runs", red).status_code == 201
    fine = {**RUN, "preflight": "require"}
    first = api.call("POST", "/api/runs", fine, Idempotency_Key="once")
    assert first.status_code == 201
    api.parts.preflight.close()
    again = api.call("POST", "/api/runs", fine, Idempotency_Key="once")
    assert (again.status_code, again.get_json()["id"]) == (200, first.get_json()["id"])


def test_wrong_values_are_named_before_anything_is_started(api: Api) -> None:
    for body, field in [
        ({**RUN, "recipe": "none"}, "recipe"),
        ({**RUN, "dataset": "none"}, "dataset"),
        ({**RUN, "params": {"dim": 5}}, "params.dim"),
        ({**RUN, "smoke": "yes"}, "smoke"),
    ]:
        response = api.call("POST", "/api/preflight", body)
        assert (response.status_code, response.get_json()["error"]["field"]) == (422, field)
    response = api.call("POST", "/api/runs", {**RUN, "preflight": "perhaps"})
    assert response.get_json()["error"]["field"] == "preflight"


def test_a_server_that_is_not_open_yet_checks_and_rehearses_nothing(api: Api) -> None:
    for path, body in [("/api/preflight", RUN), ("/api/verify", {})]:
        response = api.call("POST", path, body)
        assert (response.status_code, response.get_json()["error"]["code"]) == (409, "conflict")
    status = api.get("/api/verify")
    assert (status["running"], status["stages"], status["report"]) == (False, [], None)
    assert api.call("POST", "/api/verify/cancel", {}).status_code == 202


def test_a_viewer_may_neither_check_nor_rehearse(api: Api) -> None:
    api.token = api.parts.store.write(
        lambda session: issue_api_token(session, scope=Scope.VIEWER, label="v", now=1.0)
    )
    calls = [("POST", "/api/preflight"), *((way, "/api/verify") for way in ("GET", "POST"))]
    calls.append(("POST", "/api/verify/cancel"))
    assert [api.call(method, path, RUN).status_code for method, path in calls] == [403] * 4
