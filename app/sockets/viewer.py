"""Namespace ``/viewer``: browsers watch here; all they may do is choose what to watch."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import socketio
from socketio import exceptions

from app.config import Settings
from app.domain.callers import Caller, Scope
from app.security.access import requires
from app.security.tokens import identify
from app.services.access import Access
from app.services.live import LiveFeed
from trainer.protocol.events import VIEWER_NAMESPACE

MAX_TOPICS: Final = 200  # per connection
_TOPIC: Final = re.compile(r"runs|run:[^\s:/]{1,64}|evolution:[^\x00-\x1f]{1,200}")
Answer = dict[str, Any]


class Viewer(socketio.Namespace):  # type: ignore[misc]
    """What a browser may say: watch, unwatch."""

    def __init__(self, *, access: Access, live: LiveFeed, settings: Settings) -> None:
        super().__init__(VIEWER_NAMESPACE)
        self._access = access
        self._live = live
        self._settings = settings
        self._topics: dict[str, set[str]] = {}  # sid -> what it watches
        self._callers: dict[str, Callable[[], Caller]] = {}  # sid -> who it is now
        self._lock = threading.Lock()

    @requires("viewer")
    def on_connect(self, sid: str, environ: dict[str, Any], auth: object = None) -> None:
        """Admit a logged-in browser, or a script with an API token."""

        def who() -> Caller:
            return identify(environ, access=self._access, settings=self._settings)

        if not who().may(Scope.VIEWER):
            raise exceptions.ConnectionRefusedError("log in first")
        with self._lock:
            self._topics[sid] = set()
            self._callers[sid] = who

    @requires("viewer")
    def on_disconnect(self, sid: str, reason: str = "") -> None:
        """Forget what the browser watched."""
        with self._lock:
            topics = self._topics.pop(sid, set())
            self._callers.pop(sid, None)
        for topic in topics:
            self._live.unwatch(topic)

    @requires("viewer")
    def on_watch(self, sid: str, message: object = None) -> Answer:
        """Start to receive what happens in a topic: ``runs``, ``run:ID``, ``evolution:DATASET``."""
        topic = _topic(message)
        if topic is None:
            return _refusal("invalid", "topic must be runs, run:ID or evolution:DATASET")
        with self._lock:
            topics = self._topics.get(sid)
            if topics is None:
                return _refusal("unauthenticated", "log in first")
            if len(topics) >= MAX_TOPICS:
                return _refusal("too_many", f"one connection watches at most {MAX_TOPICS} topics")
            is_new = topic not in topics
            topics.add(topic)
        self.enter_room(sid, topic)
        if is_new:
            self._live.watch(topic)
        return {"ok": True, "server_time": time.time()}

    @requires("viewer")
    def on_unwatch(self, sid: str, message: object = None) -> Answer:
        """Stop receiving what happens in a topic."""
        topic = _topic(message)
        with self._lock:
            topics = self._topics.get(sid, set())
            watched = topic in topics
            topics.discard(topic or "")
        if topic is not None and watched:
            self.leave_room(sid, topic)
            self._live.unwatch(topic)
        return {"ok": True, "server_time": time.time()}

    def drop_logged_out(self) -> None:
        """Disconnect everybody whose session or token is no longer good."""
        with self._lock:
            callers = list(self._callers.items())
        for sid, who in callers:
            if not who().may(Scope.VIEWER):
                self.server.disconnect(sid, namespace=self.namespace)


def _topic(message: object) -> str | None:
    topic = message.get("topic") if isinstance(message, dict) else None
    return topic if isinstance(topic, str) and _TOPIC.fullmatch(topic) else None


def _refusal(code: str, message: str) -> Answer:
    return {"ok": False, "error": {"code": code, "message": message}}
