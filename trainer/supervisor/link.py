"""One live connection to a dashboard: a websocket that speaks just enough Socket.IO.

A link is used once.  When it breaks, everything waiting on it is told at once,
and a new link is made by whoever wants one.  One thread reads; it is woken by
nothing but a packet from the server.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import websocket

from trainer.supervisor import packets
from trainer.supervisor.packets import Kind, Packet

ACK_WAIT_S: Final = 20.0
_CONNECT_WAIT_S: Final = 5.0
_FAREWELL_WAIT_S: Final = 1.0
_PEER_ERRORS: Final = (websocket.WebSocketException, OSError, ValueError)


class LinkDown(Exception):
    """The connection cannot be made, is gone, or does not answer."""


class Ticket:
    """The promise of an acknowledgement."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._has_arrived = False
        self._answer: Any = None

    def resolve(self, answer: Any) -> None:
        """The acknowledgement has come."""
        self._answer = answer
        self._has_arrived = True
        self._over.set()

    def give_up(self) -> None:
        """It will not come any more."""
        self._over.set()

    def wait(self, timeout_s: float = ACK_WAIT_S) -> dict[str, Any]:
        """The answer.

        Raises:
            LinkDown: the connection broke first, or nothing came in time.
        """
        if not self._over.wait(timeout_s):
            raise LinkDown(f"no acknowledgement within {timeout_s:.0f} s")
        if not self._has_arrived:
            raise LinkDown("the connection broke before the acknowledgement")
        if not isinstance(self._answer, dict):
            raise LinkDown(f"an acknowledgement must be an object, got {type(self._answer).__name__}")
        return self._answer


class Link:
    """A connected uplink; ``on_control`` answers the dashboard's commands from the reading thread."""

    def __init__(
        self, url: str, *, auth: Mapping[str, str], on_control: Callable[[Any], dict[str, Any]]
    ) -> None:
        """Connect.

        Raises:
            LinkDown: nobody answers at ``url``, or the run's token is refused.
        """
        self.broken = threading.Event()
        self._on_control = on_control
        self._numbers = itertools.count(1)
        self._tickets: dict[int, Ticket] = {}
        try:
            self._socket = websocket.create_connection(packets.address(url), timeout=_CONNECT_WAIT_S)
        except _PEER_ERRORS as exc:
            raise LinkDown(f"{url}: {exc}") from exc
        try:
            self._socket.settimeout(self._be_admitted(auth))
        except (*_PEER_ERRORS, LinkDown) as exc:
            self._socket.shutdown()  # type: ignore[no-untyped-call]
            raise LinkDown(f"{url}: {exc}") from exc
        self._reader = threading.Thread(target=self._read, name="link", daemon=True)
        self._reader.start()

    def send(self, event: str, body: Mapping[str, Any]) -> Ticket:
        """Send without waiting for an answer; the ticket holds the acknowledgement.

        Raises:
            LinkDown: the connection is gone.
        """
        number, ticket = next(self._numbers), Ticket()
        self._tickets[number] = ticket
        if self.broken.is_set():
            ticket.give_up()  # the reader may have told the others already
        self._send(packets.event(event, body, number=number))
        return ticket

    def tell(self, event: str, body: Mapping[str, Any]) -> None:
        """Send what needs no acknowledgement.

        Raises:
            LinkDown: the connection is gone.
        """
        self._send(packets.event(event, body))

    def close(self) -> None:
        """Disconnect; whoever waits is told."""
        was_broken = self.broken.is_set()
        self.broken.set()
        with contextlib.suppress(*_PEER_ERRORS, LinkDown):
            self._socket.settimeout(_FAREWELL_WAIT_S)
            if not was_broken:
                self._send(packets.goodbye())
                self._socket.send_close()
        self._cut()
        if threading.current_thread() is not self._reader:
            self._reader.join(timeout=_FAREWELL_WAIT_S)

    def _cut(self) -> None:
        """End the reader's wait, whatever the peer does."""
        raw = self._socket.sock
        if raw is not None:
            with contextlib.suppress(OSError):  # the peer was faster
                raw.shutdown(socket.SHUT_RDWR)

    def _send(self, text: str) -> None:
        try:
            self._socket.send(text)
        except _PEER_ERRORS as exc:
            self.broken.set()
            raise LinkDown(str(exc)) from exc

    def _be_admitted(self, auth: Mapping[str, str]) -> float:
        """Shake hands; returns how long the server may be silent, in seconds."""
        opened = self._receive()
        if opened.kind is not Kind.OPEN or not isinstance(opened.body, dict):
            raise LinkDown("what answers is no Socket.IO server")
        self._send(packets.connect(auth))
        while (answer := self._receive()).kind is not Kind.CONNECT:
            if answer.kind in (Kind.REFUSAL, Kind.DISCONNECT, Kind.CLOSE):
                body = answer.body
                raise LinkDown(str(body["message"] if isinstance(body, dict) and "message" in body else body))
            if answer.kind is Kind.PING:
                self._send(packets.PONG)
        return _silence_s(opened.body)

    def _receive(self) -> Packet:
        """The next packet.

        Raises:
            LinkDown: the server has closed the connection.
        """
        text = self._socket.recv()
        if not isinstance(text, str) or not text:
            raise LinkDown("the server has closed the connection")
        return packets.parse(text)

    def _read(self) -> None:
        try:
            while not self.broken.is_set():
                self._take(self._receive())
        except (*_PEER_ERRORS, LinkDown):
            pass  # whoever uses the link is told below
        finally:
            self.broken.set()
            for ticket in list(self._tickets.values()):
                ticket.give_up()
            self._socket.shutdown()  # type: ignore[no-untyped-call]

    def _take(self, packet: Packet) -> None:
        if packet.kind is Kind.PING:
            self._send(packets.PONG)
        elif packet.kind is Kind.ACK:
            ticket = self._tickets.pop(packet.number or 0, None)
            if ticket is not None:
                ticket.resolve(packet.body[0] if isinstance(packet.body, list) and packet.body else None)
        elif packet.kind is Kind.EVENT:
            self._obey(packet)
        elif packet.kind in (Kind.CLOSE, Kind.DISCONNECT, Kind.REFUSAL):
            raise LinkDown("the server has ended the connection")

    def _obey(self, packet: Packet) -> None:
        name, *arguments = packet.body if isinstance(packet.body, list) and packet.body else [""]
        if name != "control":
            return
        answer = self._on_control(arguments[0] if arguments else None)
        if packet.number is not None:
            self._send(packets.acknowledgement(packet.number, answer))


def _silence_s(greeting: Mapping[str, Any]) -> float:
    """Within how many seconds the server pings, and a little more."""
    interval_ms, timeout_ms = greeting.get("pingInterval"), greeting.get("pingTimeout")
    if not (isinstance(interval_ms, (int, float)) and isinstance(timeout_ms, (int, float))):
        raise LinkDown(f"the server's greeting names no ping: {greeting!r}")
    return max(1.0, (interval_ms + timeout_ms) / 1e3)
