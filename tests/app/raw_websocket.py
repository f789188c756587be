"""A websocket client made of bytes, for saying what no decent client says."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import struct
from typing import Final

TEXT: Final = 0x1
BINARY: Final = 0x2
CLOSE: Final = 0x8
PING: Final = 0x9


def frame(opcode: int, payload: bytes, *, fin: bool = True, rsv: int = 0, masked: bool = True) -> bytes:
    """One frame; the mask is all zeros, so the payload travels as it is."""
    head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
    mask_bit = 0x80 if masked else 0
    if len(payload) < 126:
        head += bytes([mask_bit | len(payload)])
    elif len(payload) < 65536:
        head += bytes([mask_bit | 126]) + struct.pack("!H", len(payload))
    else:
        head += bytes([mask_bit | 127]) + struct.pack("!Q", len(payload))
    return head + (b"\0\0\0\0" if masked else b"") + payload


class RawWebSocket:
    """An upgraded connection to ``/socket.io``, by default logged in by nothing."""

    def __init__(
        self, port: int, *, extensions: str = "", authorization: str = "", receive_buffer: int | None = None
    ) -> None:
        self.sock = socket.socket()
        if receive_buffer is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.settimeout(20)
        try:
            self.sock.connect(("127.0.0.1", port))
            self.status = self._shake_hands(port, extensions, authorization)
        except OSError:
            self.sock.close()
            raise

    def _shake_hands(self, port: int, extensions: str, authorization: str) -> str:
        lines = [
            "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        ]
        if extensions:
            lines.append(f"Sec-WebSocket-Extensions: {extensions}")
        if authorization:
            lines.append(f"Authorization: {authorization}")
        self.sock.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            received = self.sock.recv(4096)
            if not received:
                raise ConnectionError("the server hung up during the handshake")
            answer += received
        return answer.split(b"\r\n", 1)[0].decode()

    def send(self, content: bytes) -> None:
        """Send bytes, whatever they are; a connection closed meanwhile is fine."""
        with contextlib.suppress(OSError):
            self.sock.sendall(content)

    def is_closed_by_peer(self) -> bool:
        """Read until the server closes; True when it does within the timeout."""
        try:
            while self.sock.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass  # reset is closed as well
        return True

    def close(self) -> None:
        """Hang up."""
        self.sock.close()
