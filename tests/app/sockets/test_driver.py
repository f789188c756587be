"""The websocket driver against a peer that stops reading."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import pytest
from engineio.packet import MESSAGE, Packet

from app.domain.callers import Scope
from app.sockets.driver import MAX_UNSENT_CHARS, MAX_UNSENT_PACKETS, SendQueue
from tests.app.in_process import Served
from tests.app.raw_websocket import TEXT, RawWebSocket, frame
from tests.app.serving import wait_for


@pytest.fixture
def stuck(box: Served) -> Iterator[RawWebSocket]:
    """A logged-in tab that watches everything and reads nothing."""
    peer = RawWebSocket(
        box.parts.settings.port, receive_buffer=4096, authorization=f"Bearer {box.token(Scope.VIEWER)}"
    )
    peer.send(frame(TEXT, b"40/viewer,"))
    peer.send(frame(TEXT, b'42/viewer,1["watch",{"topic":"runs"}]'))
    wait_for(lambda: "runs" in box.parts.live._watchers, what="the tab to watch")
    yield peer
    peer.close()


def test_a_tab_that_reads_nothing_is_cut_off_and_others_are_served(box: Served, stuck: RawWebSocket) -> None:
    server = box.app.extensions["socketio"].server
    other = box.browser(box.session_cookie())
    seen: queue.Queue[object] = queue.Queue()
    other.on("run", seen.put, namespace="/viewer")
    other.call("watch", {"topic": "runs"}, namespace="/viewer", timeout=10)
    try:
        payload = {"id": "big", "text": "x" * 10_000}
        for _ in range(4 * MAX_UNSENT_PACKETS):
            server.emit("run", payload, room="runs", namespace="/viewer")
            if len(server.eio.sockets) == 1:
                break
            seen.get(timeout=10)
        wait_for(lambda: len(server.eio.sockets) == 1, timeout_s=30, what="the stuck tab to be cut off")
        server.emit("run", {"id": "after"}, room="runs", namespace="/viewer")
        wait_for(lambda: seen.get(timeout=10) == {"id": "after"}, what="the other tab to hear on")
    finally:
        other.disconnect()


def test_a_full_queue_says_so_and_keeps_nothing_more() -> None:
    outgoing = SendQueue()
    told: list[bool] = []
    outgoing.on_overflow = lambda: told.append(True)
    for number in range(MAX_UNSENT_PACKETS + 5):
        outgoing.put(number)
    assert outgoing.qsize() == MAX_UNSENT_PACKETS
    assert told
    outgoing.put(None)  # the end of the conversation always fits
    assert outgoing.qsize() == MAX_UNSENT_PACKETS + 1


def test_few_but_long_packets_fill_the_queue_too() -> None:
    outgoing = SendQueue()
    for _ in range(10):
        outgoing.put(Packet(MESSAGE, "x" * (MAX_UNSENT_CHARS // 4)))
    assert outgoing.qsize() == 4
    outgoing.get()
    outgoing.put(Packet(MESSAGE, "y"))
    assert outgoing.qsize() == 4
