"""The doctor over REST: owners only, and nothing is ended that is not found again."""

from __future__ import annotations

import os

import psutil
import pytest

from app.domain.callers import Scope
from app.services.access import issue_api_token
from tests.app.routes.api_rig import Api
from trainer.protocol.files import write_atomic

CHECK = {"id": "a", "title": "A", "verdict": "note", "found": "f", "remedy": "r", "details": {"x": 1}}


def test_the_last_report_is_shown_with_its_age(api: Api) -> None:
    assert api.get("/api/doctor")["report"] is None
    stored = b'{"checks": [%s], "verdict": "note", "took_s": 2.5, "finished_at": 1000.0}'
    check = b'{"id": "a", "title": "A", "verdict": "note", "found": "f", "remedy": "r", "details": {"x": 1}}'
    write_atomic(api.parts.settings.instance / "doctor.json", stored % check)
    shown = api.get("/api/doctor")
    assert shown["report"] == {"checks": [CHECK], "verdict": "note", "took_s": 2.5}
    assert shown["age_s"] > 1e9
    assert shown["running"] is False


def test_a_server_that_is_not_open_yet_examines_nothing(api: Api) -> None:
    response = api.call("POST", "/api/doctor")
    assert (response.status_code, response.get_json()["error"]["code"]) == (409, "conflict")


def test_a_process_that_is_no_leftover_is_left_alone(api: Api) -> None:
    own = psutil.Process()
    named = [{"pid": os.getpid(), "create_time": own.create_time()}]
    response = api.call("POST", "/api/doctor/end-leftovers", {"processes": named})
    (ended,) = response.get_json()["ended"]
    assert (response.status_code, ended["pid"]) == (200, os.getpid())
    assert "left alone" in ended["outcome"]


@pytest.mark.parametrize("body", [{}, {"processes": []}, {"processes": [{"pid": 0, "create_time": 1.0}]}])
def test_a_wrong_list_of_processes_is_refused(api: Api, body: dict[str, object]) -> None:
    assert api.call("POST", "/api/doctor/end-leftovers", body).status_code == 422


def test_a_viewer_may_neither_read_nor_start_nor_end(api: Api) -> None:
    api.token = api.parts.store.write(
        lambda session: issue_api_token(session, scope=Scope.VIEWER, label="v", now=1.0)
    )
    calls = [("GET", "/api/doctor"), ("POST", "/api/doctor"), ("POST", "/api/doctor/end-leftovers")]
    assert [api.call(method, path, {}).status_code for method, path in calls] == [403, 403, 403]
