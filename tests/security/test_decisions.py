"""Every address and every socket event carries a decision about who may use it."""

from __future__ import annotations

import pytest
from apiflask import APIFlask

from app.domain.callers import Scope
from app.security.access import decision_of
from app.security.checkpoint import FRAMEWORK_DECISIONS, decision_for
from tests.app.in_process import Served

PUBLIC_ENDPOINTS = {
    "static",
    "openapi.spec",
    "login.page",
    "pages.favicon",
    "pages.plotly_script",
    "login.login",
    "login.logout",
    "system.healthz",
}


def test_every_route_has_a_decision(box: Served) -> None:
    undecided = [
        str(rule) for rule in box.app.url_map.iter_rules() if decision_for(box.app, rule.endpoint) is None
    ]
    assert undecided == []


def test_what_is_public_is_listed_here(box: Served) -> None:
    public = {
        rule.endpoint
        for rule in box.app.url_map.iter_rules()
        if decision_for(box.app, rule.endpoint) is Scope.ANONYMOUS
    }
    assert public == PUBLIC_ENDPOINTS


def test_what_changes_something_needs_the_owner(box: Served) -> None:
    exceptions = {"login.login", "login.logout", "runs_api.preview", "uplink.put_snapshot"}
    weak = [
        str(rule)
        for rule in box.app.url_map.iter_rules()
        if (rule.methods or set()) & {"POST", "PUT", "PATCH", "DELETE"}
        and decision_for(box.app, rule.endpoint) is not Scope.OWNER
        and rule.endpoint not in exceptions
    ]
    assert weak == []


def test_framework_decisions_name_views_that_exist(box: Served) -> None:
    assert set(FRAMEWORK_DECISIONS) <= set(box.app.view_functions)


def test_every_socket_event_has_a_decision(box: Served) -> None:
    server = box.app.extensions["socketio"].server
    assert server.handlers == {}  # nothing beside the namespaces
    assert set(server.namespace_handlers) == {"/uplink", "/viewer"}
    expected = {"/uplink": Scope.RUN, "/viewer": Scope.VIEWER}
    for name, namespace in server.namespace_handlers.items():
        events = [attribute for attribute in dir(namespace) if attribute.startswith("on_")]
        assert {"on_connect", "on_disconnect"} < set(events)
        assert {event: decision_of(getattr(namespace, event)) for event in events} == dict.fromkeys(
            events, expected[name]
        )


def test_a_view_without_a_decision_is_refused(box: Served) -> None:
    app = APIFlask("forgetful")
    app.extensions.update(box.app.extensions)
    app.before_request_funcs = box.app.before_request_funcs
    app.error_handler_spec = box.app.error_handler_spec
    app.add_url_rule("/api/forgotten", view_func=lambda: "secret")
    response = app.test_client().get("/api/forgotten")
    assert response.status_code == 403
    assert b"secret" not in response.data


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_no_method_slips_past_the_check(box: Served, method: str) -> None:
    host = box.url.removeprefix("http://")
    response = box.app.test_client().open("/api/runs", method=method, headers={"Host": host})
    assert response.status_code == 401
