"""Only our own names, only our own pages: for HTTP and for socket handshakes alike."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from app.config import Settings
from app.security.host_gate import HostGate

GOOD_HOSTS = [
    "127.0.0.1:8421",
    "localhost:8421",
    "[::1]:8421",
    "LOCALHOST:8421",
    "box.example",
    "box.example:8421",
]
BAD_HOSTS = [
    "evil.com",
    "evil.com:8421",
    "127.0.0.1",
    "localhost",
    "127.0.0.1:80",
    "127.0.0.1:84210",
    "127.0.0.1:8421.evil.com",
    "127.0.0.1.evil.com:8421",
    "127.0.0.1.nip.io:8421",
    "localhost.evil.com:8421",
    "evil.localhost:8421",
    "xlocalhost:8421",
    "localhost.:8421",
    "localhost:8421 ",
    "localhost:8421,evil.com",
    "localhost:8421@evil.com",
    "user@localhost:8421",
    "10.evil.com:8421",
    "0.0.0.0:8421",
    "0:8421",
    "127.1:8421",
    "2130706433:8421",
    "0x7f000001:8421",
    "127.0.0.2:8421",
    "[::1].x:8421",
    "[::]:8421",
    "[::ffff:127.0.0.1]:8421",
    "::1:8421",
    "[::1]",
    "box.example.evil.com",
    "evilbox.example",
    "box.example:80",
    "box.example:8421:8421",
    "*.example",
    "null",
    "localhost:08421",
    "localhost:+8421",
    "ⓛocalhost:8421",
    "localhost:8421\t",
    "localhost%00:8421",
]
ANY_REQUEST = [("/api/runs", "POST"), ("/api/runs", "GET"), ("/socket.io/", "GET")]
GOOD_ORIGINS = [
    "http://127.0.0.1:8421",
    "http://localhost:8421",
    "http://[::1]:8421",
    "HTTP://LOCALHOST:8421",
    "http://box.example",
    "https://box.example",
    "http://box.example:8421",
]
BAD_ORIGINS = [
    "null",
    "",
    "*",
    "http://evil.com",
    "http://evil.com:8421",
    "https://127.0.0.1:8421",
    "http://127.0.0.1",
    "http://127.0.0.1:8422",
    "http://127.0.0.1:84210",
    "http://127.0.0.1:8421.evil.com",
    "http://127.0.0.1.evil.com:8421",
    "http://localhost.evil.com:8421",
    "http://evil.com/http://localhost:8421",
    "http://localhost:8421/",
    "http://localhost:8421@evil.com",
    "http://user@localhost:8421",
    "ws://localhost:8421",
    "file://",
    "chrome-extension://abcdef",
    "http://localhost:8421 http://evil.com",
    "http://localhost:8421, http://evil.com",
    "localhost:8421",
    "//localhost:8421",
    "http:localhost:8421",
    "http://0.0.0.0:8421",
    "http://[::]:8421",
    "http://box.example.evil.com",
    "http://xbox.example",
    "javascript://localhost:8421",
    "http://localhost:8421#",
    "http://localhost:8421?",
]


def call(gate: HostGate, *, path: str = "/", method: str = "GET", **headers: str) -> str:
    """The status line with which the gate, or the application behind it, answers."""
    statuses: list[str] = []

    def start_response(status: str, _headers: list[tuple[str, str]], _exc: object = None) -> Any:
        statuses.append(status)

    environ = {"PATH_INFO": path, "REQUEST_METHOD": method, **headers}
    list(gate(environ, start_response))
    return statuses[0]


def behind(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """An application that is glad about everybody."""
    start_response("200 OK", [])
    return [b"in"]


def settings_of(instance: Path) -> Settings:
    """Settings with one configured name and room for eight sockets."""
    variables = {"SIGNALBOX_ALLOWED_HOSTS": "box.example", "SIGNALBOX_MAX_SOCKETS": "8"}
    return Settings.from_env({"SIGNALBOX_INSTANCE": str(instance), **variables})


@pytest.fixture
def gate(tmp_path: Path) -> HostGate:
    settings = Settings.from_env(
        {
            "SIGNALBOX_INSTANCE": str(tmp_path),
            "SIGNALBOX_ALLOWED_HOSTS": "box.example",
            "SIGNALBOX_MAX_SOCKETS": "8",
        }
    )
    return HostGate(behind, settings)


@pytest.mark.parametrize("path", ["/", "/socket.io/"])
@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_our_own_names_are_let_in(gate: HostGate, host: str, path: str) -> None:
    assert call(gate, path=path, HTTP_HOST=host) == "200 OK"


@pytest.mark.parametrize("path", ["/", "/socket.io/"])
@pytest.mark.parametrize("host", BAD_HOSTS)
def test_every_other_name_is_refused(gate: HostGate, host: str, path: str) -> None:
    assert call(gate, path=path, HTTP_HOST=host).startswith("421")


@pytest.mark.parametrize("path", ["/", "/socket.io/"])
def test_a_request_without_a_name_is_refused(gate: HostGate, path: str) -> None:
    assert call(gate, path=path).startswith("400")


@pytest.mark.parametrize("path", ["/api/runs", "/socket.io/"])
@pytest.mark.parametrize("origin", GOOD_ORIGINS)
def test_our_own_pages_are_let_in(gate: HostGate, origin: str, path: str) -> None:
    assert call(gate, path=path, HTTP_HOST="localhost:8421", HTTP_ORIGIN=origin) == "200 OK"


@pytest.mark.parametrize(
    ("path", "method"), [("/api/runs", "POST"), ("/api/runs", "GET"), ("/socket.io/", "GET")]
)
@pytest.mark.parametrize("origin", BAD_ORIGINS)
def test_every_other_page_is_refused(gate: HostGate, origin: str, path: str, method: str) -> None:
    assert call(gate, path=path, method=method, HTTP_HOST="localhost:8421", HTTP_ORIGIN=origin).startswith(
        "403"
    )


def test_forwarded_headers_change_nothing(gate: HostGate) -> None:
    status = call(
        gate,
        HTTP_HOST="evil.com",
        HTTP_X_FORWARDED_HOST="localhost:8421",
        HTTP_FORWARDED="host=localhost:8421",
    )
    assert status.startswith("421")


def test_a_socket_with_a_cookie_must_say_its_page(gate: HostGate) -> None:
    assert call(gate, path="/socket.io/", HTTP_HOST="localhost:8421", HTTP_COOKIE="a=b").startswith("403")
    assert call(gate, path="/socket.io/", HTTP_HOST="localhost:8421") == "200 OK"


def test_the_socket_address_answers_handshakes_only(gate: HostGate) -> None:
    assert call(gate, path="/socket.io/", method="POST", HTTP_HOST="localhost:8421").startswith("403")


def test_sockets_over_the_cap_are_refused_while_http_goes_on(tmp_path: Path) -> None:
    leave = threading.Event()
    inside = threading.Semaphore(0)

    def stay(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["PATH_INFO"].startswith("/socket.io"):
            inside.release()
            leave.wait(30)
        return behind(environ, start_response)

    gate = HostGate(
        stay, Settings.from_env({"SIGNALBOX_INSTANCE": str(tmp_path), "SIGNALBOX_MAX_SOCKETS": "8"})
    )
    here = {"path": "/socket.io/", "HTTP_HOST": "localhost:8421"}
    tab = {**here, "HTTP_ORIGIN": "http://localhost:8421", "HTTP_COOKIE": "a=b"}
    opened: list[threading.Thread] = []
    try:
        for request in [tab] * 6 + [here] * 2:
            if len(opened) == 6:  # the last two places are for supervisors
                assert call(gate, **tab).startswith("503")
            opened.append(threading.Thread(target=call, args=(gate,), kwargs=request))
            opened[-1].start()
            assert inside.acquire(timeout=10)
        assert call(gate, **here).startswith("503")
        assert call(gate, path="/healthz", HTTP_HOST="localhost:8421") == "200 OK"
        assert gate.num_sockets == 8
    finally:
        leave.set()
        for thread in opened:
            thread.join(10)
    assert gate.num_sockets == 0
    assert call(gate, **tab) == "200 OK"
