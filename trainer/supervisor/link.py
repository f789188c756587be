"""One live connection to a dashboard: the Socket.IO client behind a narrow door.

A link is used once.  When it breaks, everything waiting on it is told at once,
and a new link is made by whoever wants one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import socketio
from socketio.exceptions import SocketIOError

from trainer.protocol.events import UPLINK_NAMESPACE

ACK_WAIT_S: Final = 20.0
_CONNECT_WAIT_S: Final = 5.0


class LinkDown(Exception):
    """The connection cannot be made, is gone, or does not answer."""


class Ticket:
    """The promise of an acknowledgement."""

    def __init__(self, broken: threading.Event) -> None:
        self._broken = broken
        self._arrived = threading.Event()
        self._answer: Any = None

    def resolve(self, answer: Any = None, *_: Any) -> None:
        """Called by the client's thread when the acknowledgement comes."""
        self._answer = answer
        self._arrived.set()

    def wait(self, timeout_s: float = ACK_WAIT_S) -> dict[str, Any]:
        """The answer.

        Raises:
            LinkDown: the connection broke first, or nothing came in time.
        """
        deadline = time.monotonic() + timeout_s
        while not self._arrived.wait(0.2):
            if self._broken.is_set():
                raise LinkDown("the connection broke before the acknowledgement")
            if time.monotonic() > deadline:
                raise LinkDown(f"no acknowledgement within {timeout_s:.0f} s")
        if not isinstance(self._answer, dict):
            raise LinkDown(f"an acknowledgement must be an object, got {type(self._answer).__name__}")
        return self._answer


class Link:
    """A connected uplink; ``on_control`` answers the dashboard's commands from the client's thread."""

    def __init__(
        self, url: str, *, auth: Mapping[str, str], on_control: Callable[[Any], dict[str, Any]]
    ) -> None:
        """Connect.

        Raises:
            LinkDown: nobody answers at ``url``, or the run's token is refused.
        """
        self.broken = threading.Event()
        self._client = socketio.Client(reconnection=False, handle_sigint=False)
        self._client.on("control", on_control, namespace=UPLINK_NAMESPACE)
        self._client.on("disconnect", lambda *_: self.broken.set(), namespace=UPLINK_NAMESPACE)
        try:
            self._client.connect(
                url,
                auth=dict(auth),
                transports=["websocket"],
                namespaces=[UPLINK_NAMESPACE],
                wait_timeout=_CONNECT_WAIT_S,
            )
        except (SocketIOError, OSError, ValueError) as exc:
            self.close()
            raise LinkDown(f"{url}: {exc}") from exc

    def send(self, event: str, body: Mapping[str, Any]) -> Ticket:
        """Send without waiting; the ticket holds the acknowledgement.

        Raises:
            LinkDown: the connection is gone.
        """
        ticket = Ticket(self.broken)
        try:
            self._client.emit(event, dict(body), namespace=UPLINK_NAMESPACE, callback=ticket.resolve)
        except (SocketIOError, OSError) as exc:
            raise LinkDown(str(exc)) from exc
        return ticket

    def close(self) -> None:
        """Disconnect; whoever waits is told."""
        self.broken.set()
        try:
            self._client.disconnect()
        except (SocketIOError, OSError):
            return
