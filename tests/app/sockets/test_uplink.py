"""The supervisors' socket, spoken to by a real client over a real connection."""

from __future__ import annotations

import base64
import threading
import time
from array import array
from typing import Any

import pytest
import socketio

from app.sockets.links import Links
from tests.app.in_process import Served
from tests.app.serving import wait_for
from trainer.protocol.batches import Batch, Block
from trainer.protocol.events import Command, Stream


@pytest.fixture(scope="module")
def picky_token(box: Served) -> str:
    return box.add_run("picky")


def batch_of(run_id: str, *, first: int, steps: list[int]) -> Batch:
    times = array("d", [1_700_000_000.0 + step for step in steps])
    block = Block(
        1, ["train/loss"], array("q", steps), times, [array("d", [1.0 / (1 + step) for step in steps])]
    )
    return Batch(run_id, Stream.TRAINER, first, first + len(steps) - 1, blocks=[block])


def say(client: socketio.Client, event: str, message: object) -> Any:
    return client.call(event, message, namespace="/uplink", timeout=10)


def test_a_supervisor_is_told_what_is_stored_and_acknowledged_after_the_commit(box: Served) -> None:
    token = box.add_run("circle")
    client = box.supervisor("circle", token)
    try:
        hello = say(client, "hello", {"run": "circle", "attempt": 1})
        assert hello["have"]["trainer"] == 0
        assert say(client, "batch", batch_of("circle", first=1, steps=[1, 2, 3]).to_wire()) == {"have": 3}
        assert list(box.parts.metrics.read("circle", "train/loss").steps) == [1, 2, 3]
        again = say(client, "batch", batch_of("circle", first=1, steps=[1, 2, 3]).to_wire())
        assert again == {"have": 3}
        assert list(box.parts.metrics.read("circle", "train/loss").steps) == [1, 2, 3]
        text = base64.b64encode(b"hello\n").decode()
        output = {"run": "circle", "attempt": 1, "offset": 0, "text": text}
        assert say(client, "output", output) == {"have": 6}
        status: dict[str, Any] = {
            "run": "circle",
            "heartbeat": None,
            "beat_age_s": 0.1,
            "progress_age_s": 0.2,
            "process": {},
        }
        assert say(client, "status", status) == {}
        refused = say(client, "end", {"run": "circle", "state": {}, "findings": []})
        assert refused["error"]["code"] == "invalid"
        state = {
            "state": "finished",
            "reason": "finished at step 3",
            "attempt": 1,
            "step": 3,
            "t": time.time(),
        }
        assert say(client, "end", {"run": "circle", "state": state, "findings": []}) == {}
        assert box.parts.runs.get("circle").state == "finished"
    finally:
        client.disconnect()


def test_a_gap_is_refused_with_what_is_stored(box: Served) -> None:
    token = box.add_run("gap")
    client = box.supervisor("gap", token)
    try:
        answer = say(client, "batch", batch_of("gap", first=5, steps=[5]).to_wire())
        assert answer["error"]["code"] == "gap"
        assert answer["have"] == 0
    finally:
        client.disconnect()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("hello", None),
        ("hello", []),
        ("hello", {"run": "other", "attempt": 1}),
        ("hello", {"run": "picky"}),
        ("hello", {"run": "picky", "attempt": "one"}),
        ("hello", {"run": "picky", "attempt": True}),
        ("batch", "text"),
        ("batch", {"run": "picky"}),
        ("batch", {"run": "picky", "stream": "trainer", "first": 1, "last": 0, "blocks": [], "events": []}),
        ("batch", {"run": "picky", "stream": "x", "first": 1, "last": 1, "blocks": [], "events": []}),
        ("batch", {"run": "picky", "stream": "trainer", "first": 1, "last": 1, "blocks": 5, "events": []}),
        ("batch", {"run": "picky", "stream": "trainer", "first": 1, "last": 1, "blocks": [{}], "events": []}),
        ("batch", {"run": "picky", "stream": "trainer", "first": 1, "last": 1, "blocks": [], "events": [{}]}),
        ("output", {"run": "picky", "attempt": 1, "offset": 0, "text": "not base64!"}),
        ("output", {"run": "picky", "attempt": 1, "offset": -1, "text": ""}),
        ("output", {"run": "picky", "attempt": 1, "offset": 2**63, "text": ""}),
        ("output", {"run": "picky", "attempt": 0, "offset": 0, "text": ""}),
        ("status", {"run": "picky", "heartbeat": 7}),
        ("status", 7),
    ],
)
def test_a_malformed_message_is_answered_and_hurts_nobody(
    box: Served, picky_token: str, event: str, message: object
) -> None:
    client = box.supervisor("picky", picky_token)
    try:
        answer = say(client, event, message)
        assert answer["error"]["code"] == "invalid"
        assert answer["error"]["message"]
        assert say(client, "hello", {"run": "picky", "attempt": 1})["have"]["trainer"] == 0
    finally:
        client.disconnect()


@pytest.mark.parametrize(
    "auth", [None, {}, [], "text", {"run": "r"}, {"run": 1, "token": 2}, {"run": "r", "token": "x"}]
)
def test_who_does_not_know_the_token_is_refused(box: Served, auth: Any) -> None:
    client = socketio.Client(reconnection=False)
    with pytest.raises(socketio.exceptions.ConnectionError):
        client.connect(box.url, namespaces=["/uplink"], auth=auth, transports=["websocket"], wait_timeout=10)
    client.disconnect()


def test_the_token_of_another_run_is_refused(box: Served) -> None:
    token = box.add_run("mine")
    box.add_run("theirs")
    client = socketio.Client(reconnection=False)
    auth = {"run": "theirs", "token": token}
    with pytest.raises(socketio.exceptions.ConnectionError):
        client.connect(box.url, namespaces=["/uplink"], auth=auth, transports=["websocket"], wait_timeout=10)
    client.disconnect()


def test_a_command_reaches_the_supervisor_and_its_answer_comes_back(box: Served) -> None:
    token = box.add_run("obeys")
    links = links_of(box)
    assert not links.send("obeys", Command.STOP)
    client = box.supervisor("obeys", token)
    heard: list[object] = []

    def control(message: dict[str, object]) -> dict[str, bool]:
        heard.append(message)
        return {"ok": True}

    client.on("control", control, namespace="/uplink")
    try:
        assert links.send("obeys", Command.STOP)
        assert heard == [{"command": "stop"}]
    finally:
        client.disconnect()
    wait_for(lambda: not links.connected("obeys"), what="the link to go down")


def test_the_newest_connection_of_a_run_takes_over(box: Served) -> None:
    token = box.add_run("twice")
    gone = threading.Event()
    first = box.supervisor("twice", token)
    first.on("disconnect", lambda *_: gone.set(), namespace="/uplink")
    second = box.supervisor("twice", token)
    try:
        assert gone.wait(10)
        assert say(second, "hello", {"run": "twice", "attempt": 1})["have"]["trainer"] == 0
        assert links_of(box).connected("twice")
    finally:
        first.disconnect()
        second.disconnect()


def test_what_is_reported_reaches_a_watching_browser_within_a_moment(box: Served) -> None:
    token = box.add_run("seen")
    supervisor, browser = box.supervisor("seen", token), box.browser(box.session_cookie())
    arrived: list[tuple[float, Any]] = []
    browser.on("points", lambda payload: arrived.append((time.monotonic(), payload)), namespace="/viewer")
    try:
        assert browser.call("watch", {"topic": "run:seen"}, namespace="/viewer", timeout=10)["ok"]
        sent = time.monotonic()
        say(supervisor, "batch", batch_of("seen", first=1, steps=[1, 2]).to_wire())
        when, payload = wait_for(lambda: arrived and arrived[0], what="the points")
        assert when - sent < 2
        assert payload["run"] == "seen"
        assert payload["series"][0] | {"values": None, "times": None} == {
            "name": "train/loss",
            "start": 0,
            "steps": [1, 2],
            "times": None,
            "values": None,
        }
    finally:
        supervisor.disconnect()
        browser.disconnect()


def links_of(box: Served) -> Links:
    uplink = box.app.extensions["socketio"].server.namespace_handlers["/uplink"]
    links: Links = uplink._links
    return links
