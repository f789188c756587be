"""The browsers' socket: who gets in, what may be watched, who is put out."""

from __future__ import annotations

from typing import Any

import pytest
import socketio

from app.domain.callers import Scope
from app.sockets.viewer import MAX_TOPICS, Viewer
from tests.app.in_process import Served
from tests.app.serving import wait_for


def watch(client: socketio.Client, message: object, *, event: str = "watch") -> Any:
    return client.call(event, message, namespace="/viewer", timeout=10)


def viewer_of(box: Served) -> Viewer:
    namespace: Viewer = box.app.extensions["socketio"].server.namespace_handlers["/viewer"]
    return namespace


def test_a_logged_in_browser_watches_and_stops_watching(box: Served) -> None:
    box.add_run("r1")
    browser = box.browser(box.session_cookie())
    seen: list[Any] = []
    browser.on("run", seen.append, namespace="/viewer")
    try:
        answer = watch(browser, {"topic": "runs"})
        assert answer["ok"] is True
        assert answer["server_time"] > 1_700_000_000
        box.parts.live.run_changed("r1")
        wait_for(lambda: seen, what="the run")
        assert seen[0]["id"] == "r1"
        assert watch(browser, {"topic": "runs"}, event="unwatch")["ok"] is True
        box.parts.live.run_changed("r1")
        assert watch(browser, {"topic": "run:r1"})["ok"] is True
        assert len(seen) == 1
    finally:
        browser.disconnect()


def test_who_is_not_logged_in_is_refused(box: Served) -> None:
    for cookie in (
        None,
        "signalbox_1_session=x",
        f"signalbox_{box.parts.settings.port}_session=wrong",
        "x; y=;;",
    ):
        with pytest.raises(socketio.exceptions.ConnectionError):
            box.browser(cookie)


def test_a_script_watches_with_a_token(box: Served) -> None:
    client = socketio.Client(reconnection=False)
    headers = {"Authorization": f"Bearer {box.token(Scope.VIEWER)}"}
    client.connect(
        box.url, namespaces=["/viewer"], headers=headers, transports=["websocket"], wait_timeout=10
    )
    assert watch(client, {"topic": "runs"})["ok"] is True
    client.disconnect()


def test_a_run_token_watches_nothing(box: Served) -> None:
    client = socketio.Client(reconnection=False)
    headers = {"Authorization": f"Bearer {box.add_run('nosy')}"}
    with pytest.raises(socketio.exceptions.ConnectionError):
        client.connect(
            box.url, namespaces=["/viewer"], headers=headers, transports=["websocket"], wait_timeout=10
        )
    client.disconnect()


@pytest.mark.parametrize(
    "topic", [None, 5, "", "run", "run:", "run:a/b", "run:a:b", "evolution:", "all", "run:x\n", "*"]
)
def test_only_known_topics_are_watched(box: Served, topic: object) -> None:
    browser = box.browser(box.session_cookie())
    try:
        answer = watch(browser, {"topic": topic})
        assert answer["ok"] is False
        assert answer["error"]["code"] == "invalid"
        assert watch(browser, topic)["ok"] is False
    finally:
        browser.disconnect()


def test_one_connection_cannot_watch_without_end(box: Served) -> None:
    browser = box.browser(box.session_cookie())
    try:
        for number in range(MAX_TOPICS):
            assert watch(browser, {"topic": f"run:r{number}"})["ok"] is True
        assert watch(browser, {"topic": "runs"})["error"]["code"] == "too_many"
    finally:
        browser.disconnect()


def test_a_closed_tab_is_forgotten(box: Served) -> None:
    browser = box.browser(box.session_cookie())
    watch(browser, {"topic": "run:brief"})
    assert "run:brief" in box.parts.live._watchers
    browser.disconnect()
    wait_for(lambda: "run:brief" not in box.parts.live._watchers, what="the room to empty")


def test_logging_out_ends_the_socket_too(box: Served) -> None:
    cookie = box.session_cookie()
    browser, other = box.browser(cookie), box.browser(box.session_cookie())
    ended: list[object] = []
    browser.on("disconnect", lambda *reason: ended.append(reason), namespace="/viewer")
    try:
        box.parts.access.logout(cookie.partition("=")[2])
        viewer_of(box).drop_logged_out()
        wait_for(lambda: ended, what="the disconnection")
        assert watch(other, {"topic": "runs"})["ok"] is True
    finally:
        browser.disconnect()
        other.disconnect()


def test_a_browser_cannot_speak_for_a_run(box: Served) -> None:
    browser = box.browser(box.session_cookie())
    try:
        with pytest.raises(socketio.exceptions.BadNamespaceError):
            browser.emit("batch", {}, namespace="/uplink")
    finally:
        browser.disconnect()
