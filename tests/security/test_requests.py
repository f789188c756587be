"""Who gets what over HTTP: credentials on every route, forgery, headers, limits."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from app.domain.callers import Scope
from app.security.checkpoint import decision_for
from app.security.headers import CONTENT_SECURITY_POLICY
from app.services.access import GUESSES_PER_MINUTE
from tests.app.in_process import Served

VALUES: dict[str, Any] = {"run_id": "r1", "step": 1, "version": "0", "filename": "logo.svg"}


class Visitor:
    """A client with one kind of credentials."""

    def __init__(self, box: Served, **headers: str) -> None:
        self._client: FlaskClient = box.app.test_client(use_cookies=False)
        self._headers = {"Host": box.url.removeprefix("http://"), **headers}

    def ask(self, method: str, path: str, *, without: str = "", **more: Any) -> TestResponse:
        headers = {**self._headers, **more.pop("headers", {})}
        headers.pop(without, None)
        return self._client.open(path, method=method, headers=headers, **more)


def own_page(box: Served) -> dict[str, str]:
    """What our own pages send with every change."""
    return {"Origin": box.url, "X-Requested-By": "signalbox", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def visitors(box: Served) -> dict[str, Visitor]:
    other, own = box.add_run("r2"), box.add_run("r1")
    return {
        "nobody": Visitor(box),
        "stranger": Visitor(box, Authorization="Bearer wrong"),
        "basic": Visitor(box, Authorization="Basic b3duZXI6b3duZXI="),
        "viewer": Visitor(box, Authorization=f"Bearer {box.token(Scope.VIEWER)}"),
        "owner": Visitor(box, Authorization=f"Bearer {box.token(Scope.OWNER)}"),
        "browser": Visitor(box, Cookie=box.session_cookie(), **own_page(box)),
        "run": Visitor(box, Authorization=f"Bearer {own}"),
        "other run": Visitor(box, Authorization=f"Bearer {other}"),
    }


ALLOWED = {
    Scope.ANONYMOUS: {"nobody", "stranger", "basic", "viewer", "owner", "browser", "run", "other run"},
    Scope.VIEWER: {"viewer", "owner", "browser"},
    Scope.OWNER: {"owner", "browser"},
    Scope.RUN: {"run"},
}
KNOWN = {"viewer", "owner", "browser", "run", "other run"}


def address_of(rule: Rule) -> str:
    built = rule.build({name: VALUES.get(name, "x") for name in rule.arguments})
    assert built is not None
    return built[1]


def test_every_credential_on_every_route(box: Served, visitors: dict[str, Visitor]) -> None:
    wrong = []
    for rule in box.app.url_map.iter_rules():
        needed = decision_for(box.app, rule.endpoint)
        assert needed is not None
        if needed is Scope.ANONYMOUS:
            continue
        for method in sorted((rule.methods or set()) - {"OPTIONS", "HEAD", "DELETE"}):
            for name, visitor in visitors.items():
                if name in ALLOWED[needed] and method != "GET":
                    continue  # what the owner may change is tested where it is changed
                status = visitor.ask(method, address_of(rule)).status_code
                refused = {403} if name in KNOWN else {401, 302}
                if (status in refused) is (name in ALLOWED[needed]):
                    wrong.append(f"{name}: {method} {rule} -> {status}")
    assert wrong == []


def test_pages_send_the_unknown_to_the_login_and_the_api_says_401(visitors: dict[str, Visitor]) -> None:
    page = visitors["nobody"].ask("GET", "/")
    assert (page.status_code, page.location) == (302, "/login")
    deep = visitors["nobody"].ask("GET", "/evolution/python_docs?step=100&q=a b")
    assert deep.location == "/login?next=/evolution/python_docs?step%3D100%26q%3Da+b"
    answer = visitors["nobody"].ask("GET", "/api/runs")
    assert answer.status_code == 401
    assert answer.get_json()["error"]["code"] == "unauthenticated"
    assert "WWW-Authenticate" in answer.headers


def test_a_wrong_bearer_never_falls_back_to_the_cookie(visitors: dict[str, Visitor]) -> None:
    answer = visitors["browser"].ask("GET", "/api/runs", headers={"Authorization": "Bearer wrong"})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("without", "headers"),
    [
        ("X-Requested-By", {}),
        ("", {"X-Requested-By": "form"}),
        ("", {"Sec-Fetch-Site": "cross-site"}),
        ("", {"Sec-Fetch-Site": "same-site"}),
        ("", {"Sec-Fetch-Site": "none"}),
        ("", {"Origin": "http://evil.com"}),
        ("", {"Origin": "null"}),
        ("", {"Content-Type": "text/plain"}),
        ("", {"Content-Type": "application/x-www-form-urlencoded"}),
        ("", {"Content-Type": "multipart/form-data; boundary=x"}),
    ],
)
@pytest.mark.parametrize("path", ["/api/runs", "/api/login", "/api/runs/r1/stop"])
def test_a_forged_change_is_refused(
    visitors: dict[str, Visitor], path: str, without: str, headers: dict[str, str]
) -> None:
    sent = {"Content-Type": "application/json", **headers}
    answer = visitors["browser"].ask("POST", path, without=without, headers=sent, data=b'{"recipe": "x"}')
    assert answer.status_code == 403


def test_an_old_browser_is_known_by_its_origin(box: Served, visitors: dict[str, Visitor]) -> None:
    answer = visitors["browser"].ask("POST", "/api/runs/none/stop", without="Sec-Fetch-Site")
    assert answer.status_code == 404
    bare = Visitor(box, Cookie=box.session_cookie(), **{"X-Requested-By": "signalbox"})
    assert bare.ask("POST", "/api/runs/none/stop").status_code == 403


def test_a_token_needs_no_page(visitors: dict[str, Visitor]) -> None:
    assert visitors["owner"].ask("POST", "/api/runs/none/stop").status_code == 404


def test_login_sets_a_cookie_that_scripts_and_other_sites_cannot_use(box: Served) -> None:
    browser = Visitor(box, **own_page(box))
    answer = browser.ask("POST", "/api/login", json={"code": box.login_code()})
    assert answer.status_code == 200
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"signalbox_{box.parts.settings.port}_session=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    logged_in = Visitor(box, Cookie=cookie.partition(";")[0], **own_page(box))
    assert logged_in.ask("GET", "/").status_code == 200
    assert logged_in.ask("POST", "/api/logout").status_code == 200
    assert logged_in.ask("GET", "/").status_code == 302


def test_guessing_codes_ends_in_429(box: Served) -> None:
    browser = Visitor(box, **own_page(box))
    statuses = [
        browser.ask(
            "POST", "/api/login", json={"code": "guess"}, environ_base={"REMOTE_ADDR": "10.0.0.9"}
        ).status_code
        for _ in range(GUESSES_PER_MINUTE + 1)
    ]
    assert statuses == [401] * GUESSES_PER_MINUTE + [429]


@pytest.mark.parametrize(
    "path", ["/", "/login", "/api/runs", "/api/none", "/none", "/healthz", "/openapi.json"]
)
@pytest.mark.parametrize("who", ["nobody", "browser"])
def test_every_answer_carries_the_headers(visitors: dict[str, Visitor], who: str, path: str) -> None:
    headers = visitors[who].ask("GET", path).headers
    assert headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe-eval" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


def test_a_body_over_a_mebibyte_is_refused(visitors: dict[str, Visitor]) -> None:
    answer = visitors["owner"].ask(
        "POST", "/api/runs", data=b" " * (1024 * 1024 + 1), content_type="application/json"
    )
    assert answer.status_code == 413
    assert answer.get_json()["error"]["code"] == "too_large"


def test_a_snapshot_may_be_larger_than_other_bodies(visitors: dict[str, Visitor]) -> None:
    garbage = b"\x00" * (2 * 1024 * 1024)
    sent = {"Content-Type": "application/gzip"}
    answer = visitors["run"].ask("PUT", "/api/uplink/runs/r1/snapshots/1", data=garbage, headers=sent)
    assert answer.status_code == 422
    huge = b"\x00" * (64 * 1024 * 1024 + 1)
    answer = visitors["run"].ask("PUT", "/api/uplink/runs/r1/snapshots/1", data=huge, headers=sent)
    assert answer.status_code == 413


def test_errors_of_the_evolution_api_are_text(visitors: dict[str, Visitor]) -> None:
    body = visitors["owner"].ask("GET", "/api/evolution/none/snapshots").get_json()
    assert isinstance(body["error"], str)
    assert body["code"] == "not_found"


def test_broken_json_is_the_callers_mistake(visitors: dict[str, Visitor]) -> None:
    answer = visitors["owner"].ask("POST", "/api/runs", data=b"{", content_type="application/json")
    assert answer.status_code in (400, 422)
    assert "JSON" in answer.get_json()["error"]["message"]


def test_a_fault_of_ours_is_told_by_an_id_only(
    visitors: dict[str, Visitor],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    box: Served,
) -> None:
    def broken() -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setitem(box.app.view_functions, "system.server", _decided(broken))
    answer = visitors["owner"].ask("GET", "/api/server")
    assert answer.status_code == 500
    message = answer.get_json()["error"]["message"]
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    assert message.split()[-1] in caplog.text


def _decided(view: Any) -> Any:
    from app.security.access import requires

    return requires("viewer")(view)
