"""Links to a real Socket.IO server, and to servers that are none."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from werkzeug.serving import make_server

from tests.children.dashboard import TOKEN, Dashboard
from tests.trainer.supervisor.supervised import wait_until
from trainer.supervisor.link import Link, LinkDown

pytestmark = pytest.mark.process


def connected(url: str, *, on_control: Callable[[Any], dict[str, Any]] = lambda message: {}) -> Link:
    return Link(url, auth={"run": "run-1", "token": TOKEN}, on_control=on_control)


def silence(seconds: float, dashboard: Dashboard) -> None:
    """Let the server be pinged about so often, and give up after the same time."""
    dashboard.sio.eio.ping_interval = dashboard.sio.eio.ping_timeout = seconds


def test_every_message_gets_its_own_answer_and_orders_are_obeyed(dashboard: Dashboard) -> None:
    orders: list[Any] = []

    def obey(message: Any) -> dict[str, Any]:
        orders.append(message)
        return {"ok": True}

    with closing(connected(dashboard.start(), on_control=obey)) as link:
        tickets = [link.send("hello", {"run": "run-1", "number": number}) for number in range(20)]
        assert all(ticket.wait()["have"]["trainer"] == 0 for ticket in tickets)
        link.tell("status", {"run": "run-1", "words": "größer"})
        wait_until(lambda: dashboard.statuses)
        assert dashboard.statuses[0]["words"] == "größer"
        assert dashboard.control("stop") == {"ok": True}
        assert orders == [{"command": "stop"}]
        assert not link.broken.is_set()


def test_a_wrong_token_is_refused(dashboard: Dashboard) -> None:
    with pytest.raises(LinkDown, match="refused by server"):
        Link(dashboard.start(), auth={"run": "run-1", "token": "x"}, on_control=lambda message: {})


def test_it_answers_pings_and_stays(dashboard: Dashboard) -> None:
    silence(0.3, dashboard)
    with closing(connected(dashboard.start())) as link:
        assert not link.broken.wait(1.5)
        assert link.send("hello", {"run": "run-1"}).wait()


def test_a_server_that_falls_silent_is_noticed(dashboard: Dashboard) -> None:
    silence(0.5, dashboard)
    url = dashboard.start()
    with closing(connected(url)) as link:
        silence(60.0, dashboard)
        assert link.broken.wait(5)


def test_whoever_waits_is_told_at_once_when_the_server_hangs_up(dashboard: Dashboard) -> None:
    asleep = threading.Event()
    dashboard.sio.on("sleep", lambda sid, message: asleep.wait(5), namespace="/uplink")
    with closing(connected(dashboard.start())) as link:
        ticket = link.send("sleep", {})
        sid = next(sid for sid, _ in dashboard.sio.manager.get_participants("/uplink", None))
        began = time.monotonic()
        dashboard.sio.disconnect(sid, namespace="/uplink")
        with pytest.raises(LinkDown, match="broke before"):
            ticket.wait()
        assert time.monotonic() - began < 4
        asleep.set()
        wait_until(lambda: link.broken.is_set())
        with pytest.raises(LinkDown):
            link.send("hello", {"run": "run-1"}).wait()


def test_closing_ends_the_reading_thread_and_the_servers_side(dashboard: Dashboard) -> None:
    link = connected(dashboard.start())
    link.close()
    wait_until(lambda: not list(dashboard.sio.manager.get_participants("/uplink", None)))
    assert "link" not in {thread.name for thread in threading.enumerate()}
    link.close()


def test_nobody_there_and_somebody_else_there_are_told_apart() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with pytest.raises(LinkDown, match="refused"):
            connected(f"http://127.0.0.1:{nobody.getsockname()[1]}")

    def hello_world(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"hello"]

    server = make_server("127.0.0.1", 0, hello_world)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with pytest.raises(LinkDown, match="200"):
            connected(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
