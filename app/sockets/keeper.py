"""Puts out who may not stay: logged-out browsers, and sockets that never said who they are."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Final

import socketio

from app.sockets.viewer import Viewer

LOOK_EVERY_S: Final = 5.0
ANONYMOUS_S: Final = 10.0  # how long a connection may stay without having joined a namespace
RECHECK_S: Final = 60.0
logger: Final = logging.getLogger("signalbox.sockets")


class SocketKeeper:
    """One thread that looks at all connections every few seconds."""

    def __init__(self, server: socketio.Server, viewer: Viewer) -> None:
        self._server = server
        self._viewer = viewer
        self._first_seen: dict[str, float] = {}
        self._last_recheck = time.monotonic()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start looking."""
        self._closing.clear()
        self._thread = threading.Thread(target=self._run, name="socket-keeper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def _run(self) -> None:
        while not self._closing.wait(LOOK_EVERY_S):
            try:
                self.look(now=time.monotonic())
            except Exception:  # a closed socket in mid-look, a busy database: look again later
                logger.exception("could not look after the sockets")

    def look(self, *, now: float) -> None:
        """Look once; ``now`` is on the monotonic clock."""
        open_sockets = dict(self._server.eio.sockets)
        self._first_seen = {sid: self._first_seen.get(sid, now) for sid in open_sockets}
        for sid, since in self._first_seen.items():
            if now - since > ANONYMOUS_S and not self._has_joined(sid):
                logger.info("a connection never said who it is; closed")
                open_sockets[sid].close(wait=False)
        if now - self._last_recheck > RECHECK_S:
            self._last_recheck = now
            self._viewer.drop_logged_out()

    def _has_joined(self, eio_sid: str) -> bool:
        members: Any = self._server.manager
        return any(
            members.sid_from_eio_sid(eio_sid, namespace) is not None
            for namespace in list(members.get_namespaces())
        )
