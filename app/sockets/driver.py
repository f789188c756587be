"""The websocket driver, bounded on every side.

engine.io's own driver buffers a message whole before it looks at its size, and
queues without end for a browser that has stopped reading.  This one closes the
connection instead: on a message over ``MAX_MESSAGE_BYTES``, on a binary one
(nothing of ours is), on a malformed one, and on a queue that nobody drains.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable
from typing import Any, Final

import simple_websocket
from engineio.async_drivers import threading as engineio_threading
from wsproto.utilities import LocalProtocolError

MAX_MESSAGE_BYTES: Final = 1024 * 1024  # a batch has at most 256 KiB
MAX_UNREAD_MESSAGES: Final = 64  # taken off the wire ahead of their turn, per connection
MAX_UNSENT_PACKETS: Final = 1000
MAX_UNSENT_CHARS: Final = 4 * 1024 * 1024
USER_TIMEOUT_MS: Final = 20_000  # a peer that acknowledges no bytes for so long is gone
_CLOSED: Final = (simple_websocket.ConnectionClosed, LocalProtocolError)
_PACKET_TYPES: Final = "0123456"
_BINARY_PREFIXES: Final = ("45", "46")  # Socket.IO packets that announce binary attachments


class SendQueue(queue.Queue[Any]):
    """What waits to be sent on one connection; overflowing ends the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.on_overflow: Callable[[], None] | None = None
        self._num_chars = 0

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Add a packet, or drop it and abort a connection whose peer has stopped reading."""
        is_full = self.qsize() >= MAX_UNSENT_PACKETS or self._num_chars >= MAX_UNSENT_CHARS
        if item is not None and is_full:
            if self.on_overflow is not None:
                self.on_overflow()
            return
        super().put(item, block, timeout)

    def _put(self, item: Any) -> None:
        self._num_chars += _num_chars(item)
        super()._put(item)

    def _get(self) -> Any:
        item = super()._get()
        self._num_chars -= _num_chars(item)
        return item


class WholeSocket:
    """A socket whose ``send`` sends everything, one caller at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self._raw = sock
        self._lock = threading.Lock()

    def send(self, content: bytes) -> None:
        with self._lock:
            self._raw.sendall(content)

    def recv(self, num_bytes: int) -> bytes:
        return self._raw.recv(num_bytes)

    def close(self) -> None:
        self._raw.close()


class BoundedConnection(simple_websocket.Server):  # type: ignore[misc]
    """A server-side websocket that never holds more than it should."""

    def __init__(self, environ: dict[str, Any]) -> None:
        self._room = threading.Event()
        environ.pop("HTTP_SEC_WEBSOCKET_EXTENSIONS", None)  # no compression: it would hide a message's size
        super().__init__(environ, max_message_size=MAX_MESSAGE_BYTES, receive_bytes=16384)

    def handshake(self) -> None:
        """Answer the handshake on a socket that sends whole frames."""
        raw: Any = self.sock
        self.sock: Any = WholeSocket(raw)
        super().handshake()

    def receive(self, timeout: float | None = None) -> str | bytes | None:
        """The next message; makes room for one more on the way."""
        message: str | bytes | None = super().receive(timeout=timeout)
        self._room.set()
        return message

    def _handle_events(self) -> bool:
        while len(self.input_buffer) >= MAX_UNREAD_MESSAGES and self.connected:
            self._room.wait(1.0)  # the peer waits too: its bytes stay in the network
            self._room.clear()
        keep_going: bool = super()._handle_events()
        if not keep_going:
            self.connected: bool = False  # before the reader looks again, or it would wait for ever
            self.event.set()
        return keep_going


class OpenWebSocket:
    """One established connection, as engine.io wants to see it."""

    def __init__(self, connection: BoundedConnection, sock: socket.socket) -> None:
        self._connection = connection
        self._raw = sock

    def send(self, message: str) -> None:
        """Send one packet.

        Raises:
            OSError: the connection is closed.
        """
        try:
            self._connection.send(message)
        except _CLOSED:
            raise OSError from None

    def wait(self) -> str | None:
        """The next packet; None when the connection is, or has to be, closed."""
        try:
            message = self._connection.receive()
        except simple_websocket.ConnectionClosed:
            return None
        if isinstance(message, str) and _is_packet(message):
            return message
        if message is not None:
            self.close()
        return None

    def close(self) -> None:
        """Say good-bye and close."""
        if self._connection.connected:
            with contextlib.suppress(OSError, *_CLOSED):  # the peer was faster
                self._connection.close()
            self._connection.event.set()  # the reader need not wait for the peer's farewell

    def abort(self) -> None:
        """Cut the connection; wakes both the reading and the writing thread."""
        with contextlib.suppress(OSError):  # already gone
            self._raw.shutdown(socket.SHUT_RDWR)


class BoundedWebSocket:
    """Upgrades one request; takes the place of engine.io's ``SimpleWebSocketWSGI``."""

    def __init__(self, converse: Callable[[OpenWebSocket], Any], server: object, **_: Any) -> None:
        self._converse = converse

    def __call__(self, environ: dict[str, Any], start_response: object) -> Any:
        sock: socket.socket = environ.get("gunicorn.socket") or environ["werkzeug.socket"]
        limit_silence(sock)
        connection = BoundedConnection(environ)
        opened = OpenWebSocket(connection, sock)
        outgoing: SendQueue = self._converse.__self__.queue  # type: ignore[attr-defined]
        outgoing.on_overflow = opened.abort
        answer = self._converse(opened)
        if connection.mode == "gunicorn":
            raise StopIteration  # how gunicorn is told that the connection is used up
        if connection.mode == "werkzeug":
            opened.abort()  # or Werkzeug would read late frames as the next request
            raise ConnectionError
        return answer


def bounded_driver() -> dict[str, Any]:
    """The parts engine.io builds a threaded server from, with ours in their place."""
    return {**engineio_threading._async, "websocket": BoundedWebSocket, "queue": SendQueue}


def limit_silence(sock: socket.socket) -> None:
    """Let the kernel give up on a peer that acknowledges nothing (where it can)."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)


def _num_chars(item: object) -> int:
    payload = getattr(item, "data", None)
    return len(payload) if isinstance(payload, str) else 0


def _is_packet(message: str) -> bool:
    return message[:1] in _PACKET_TYPES and message[:1] != "" and not message.startswith(_BINARY_PREFIXES)
