"""The few packets of Engine.IO 4 and Socket.IO 5 that an uplink needs, as text on a websocket.

The first digit is Engine.IO's type; in a message (4) the second is Socket.IO's.
Binary packets and other namespaces than ``/uplink`` are not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from trainer.protocol.events import UPLINK_NAMESPACE

PONG: Final = "3"
_NAMESPACE_END: Final = ","


class Kind(StrEnum):
    """What a packet is, by the digits it begins with."""

    OPEN = "0"
    CLOSE = "1"
    PING = "2"
    CONNECT = "40"
    DISCONNECT = "41"
    EVENT = "42"
    ACK = "43"
    REFUSAL = "44"
    OTHER = ""


_IN_NAMESPACE: Final = {
    "40": Kind.CONNECT, "41": Kind.DISCONNECT, "42": Kind.EVENT, "43": Kind.ACK, "44": Kind.REFUSAL,
}  # fmt: skip


@dataclass(frozen=True)
class Packet:
    """A packet from the server; ``body`` is its JSON, None where it has none."""

    kind: Kind
    number: int | None = None
    body: Any = None


def address(url: str) -> str:
    """Where the websocket of the dashboard at ``url`` is.

    Raises:
        ValueError: it is not an address of HTTP.
    """
    parts = urlsplit(url)
    scheme = {"http": "ws", "ws": "ws", "https": "wss", "wss": "wss"}.get(parts.scheme)
    if scheme is None or not parts.netloc:
        raise ValueError("the address of a dashboard begins with http:// or https://")
    return f"{scheme}://{parts.netloc}/socket.io/?transport=websocket&EIO=4"


def connect(auth: Mapping[str, str]) -> str:
    """Ask to be admitted to the namespace."""
    return f"{Kind.CONNECT}{UPLINK_NAMESPACE},{orjson.dumps(dict(auth)).decode()}"


def event(name: str, body: Mapping[str, Any], *, number: int | None = None) -> str:
    """Say something; with a ``number`` the server acknowledges it."""
    text = orjson.dumps([name, body]).decode()
    return f"{Kind.EVENT}{UPLINK_NAMESPACE},{'' if number is None else number}{text}"


def acknowledgement(number: int, answer: Mapping[str, Any]) -> str:
    """Answer the server's event of this number."""
    return f"{Kind.ACK}{UPLINK_NAMESPACE},{number}{orjson.dumps([answer]).decode()}"


def goodbye() -> str:
    """Leave the namespace."""
    return f"{Kind.DISCONNECT}{UPLINK_NAMESPACE},"


def parse(text: str) -> Packet:
    """What the server sent; packets of no concern are of kind ``OTHER``.

    Raises:
        ValueError: it is malformed.
    """
    if text[:1] == "0":
        return Packet(Kind.OPEN, body=orjson.loads(text[1:]))
    if text[:1] in ("1", "2"):
        return Packet(Kind(text[:1]))
    lead, _, rest = text[2:].partition(_NAMESPACE_END)
    kind = _IN_NAMESPACE.get(text[:2], Kind.OTHER)
    if kind is Kind.OTHER or lead != UPLINK_NAMESPACE:
        return Packet(Kind.OTHER)
    num_digits = len(rest) - len(rest.lstrip("0123456789"))
    number = int(rest[:num_digits]) if num_digits else None
    body = orjson.loads(rest[num_digits:]) if rest[num_digits:] else None
    return Packet(kind, number, body)
