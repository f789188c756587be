"""The supervisors that are connected now, and how to say something to one."""

from __future__ import annotations

import logging
import threading
from typing import Any, Final

import socketio

from trainer.protocol.events import UPLINK_NAMESPACE, Command

ANSWER_TIMEOUT_S: Final = 3.0
logger: Final = logging.getLogger("signalbox.uplink")


class Links:
    """Which run's supervisor speaks on which socket; the newest connection of a run wins."""

    def __init__(self, server: socketio.Server) -> None:
        self._server = server
        self._sids: dict[str, str] = {}
        self._lock = threading.Lock()

    def connected(self, run_id: str) -> bool:
        """Whether the run's supervisor is on the line."""
        return run_id in self._sids

    def add(self, run_id: str, sid: str) -> str | None:
        """Remember a connection; returns the one it replaces, if any."""
        with self._lock:
            replaced = self._sids.get(run_id)
            self._sids[run_id] = sid
        return replaced

    def remove(self, run_id: str, sid: str) -> None:
        """Forget a connection, unless a newer one has replaced it."""
        with self._lock:
            if self._sids.get(run_id) == sid:
                del self._sids[run_id]

    def send(self, run_id: str, command: Command) -> bool:
        """Pass a command to the run's supervisor; True once it has said that it got it.

        Must not be called from a socket event: its answer arrives as one.
        """
        sid = self._sids.get(run_id)
        if sid is None:
            return False
        answered = threading.Event()
        accepted: list[bool] = []

        def on_answer(*answer: Any) -> None:
            accepted.append(bool(answer) and isinstance(answer[0], dict) and answer[0].get("ok") is True)
            answered.set()

        self._server.emit(
            "control", {"command": command.value}, to=sid, namespace=UPLINK_NAMESPACE, callback=on_answer
        )
        if not answered.wait(ANSWER_TIMEOUT_S):
            logger.warning("the supervisor of run %s did not answer %r", run_id, command.value)
            return False
        return accepted[0]
