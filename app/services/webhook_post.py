"""One POST to an address that somebody typed in: bounded in time and size, and nowhere else than there.

Redirects are never followed: their target was chosen by nobody here.
Link-local addresses, where clouds keep the credentials of a machine, are
refused by the address that was really connected to, so no name can hide one.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from app.domain.webhook_address import is_link_local, trouble_with
from app.errors import InvalidRequest

SIGNATURE: Final = "X-Signalbox-Signature"
DELIVERY: Final = "X-Signalbox-Delivery"
_FORBIDDEN_HINT: Final = "Write an address such as https://example.org/hooks/signalbox."


@dataclass(frozen=True)
class Outcome:
    """What became of a delivery: ``ok`` for a 2xx; ``final`` when trying again cannot help."""

    ok: bool
    status: int | None
    words: str
    final: bool = False


def check_url(url: str) -> str:
    """``url`` if it may be posted to.

    Raises:
        InvalidRequest: it is no http or https address; says what is wrong, not the address.
    """
    trouble = trouble_with(url)
    if trouble:
        raise InvalidRequest(f"The webhook's address {trouble}.", field="url", hint=_FORBIDDEN_HINT)
    return url


def host_of(url: str) -> str:
    """The part of an address that may be logged: path and query often hold a secret."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def sign(body: bytes, secret: str) -> str:
    """``sha256=HEX``: HMAC-SHA256 of the body, so that the receiver knows who sent it."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def post(url: str, body: bytes, *, secret: str, delivery: str, timeout_s: float) -> Outcome:
    """Send ``body`` once; never raises, and returns within about ``timeout_s`` seconds.

    Args:
        url: checked by :func:`check_url`.
        body: JSON.
        secret: signs the body; empty for none.
        delivery: the same for all tries of one message, so that a receiver can drop repeats.
        timeout_s: for the whole exchange, name lookup aside.
    """
    parts = urlsplit(url)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Signalbox",
        DELIVERY: delivery,
        "Connection": "close",
    }
    if secret:
        headers[SIGNATURE] = sign(body, secret)
    deadline = time.monotonic() + timeout_s
    connection = _connection(parts, timeout_s)
    alarm = threading.Timer(timeout_s, _cut, [connection])  # an answer that drips never times out by itself
    alarm.daemon = True
    alarm.start()
    try:
        connection.connect()
        if refusal := _refused_peer(connection.sock):
            return Outcome(ok=False, status=None, words=refusal, final=True)
        connection.request("POST", _target(parts), body=body, headers=headers)
        status = connection.getresponse().status
    except TimeoutError:
        return Outcome(ok=False, status=None, words=f"no answer within {timeout_s:g} s")
    except (OSError, http.client.HTTPException, ValueError) as exc:
        is_late = time.monotonic() >= deadline
        words = f"no answer within {timeout_s:g} s" if is_late else _reason(exc)
        return Outcome(ok=False, status=None, words=words)
    finally:
        alarm.cancel()
        connection.close()
    return _judge(status)


def _connection(parts: SplitResult, timeout_s: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=context)
    return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)


def _cut(connection: http.client.HTTPConnection) -> None:
    connected = connection.sock
    if connected is not None:
        with contextlib.suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _refused_peer(connected: socket.socket) -> str:
    host = str(connected.getpeername()[0])
    return "the name leads to a link-local address" if is_link_local(host) else ""


def _judge(status: int) -> Outcome:
    if 200 <= status < 300:
        return Outcome(ok=True, status=status, words=f"answered {status}")
    if 300 <= status < 400:
        words = (
            f"answered {status}: it leads elsewhere, and redirects are not followed; write the final address"
        )
        return Outcome(ok=False, status=status, words=words, final=True)
    is_final = 400 <= status < 500 and status not in (408, 425, 429)
    return Outcome(ok=False, status=status, words=f"answered {status}", final=is_final)


def _reason(exc: Exception) -> str:
    if isinstance(exc, ssl.SSLError):
        return f"TLS failed: {exc.reason or 'handshake'}"
    if isinstance(exc, socket.gaierror):
        return "its name cannot be resolved"
    if isinstance(exc, ConnectionRefusedError):
        return "nobody listens there"
    return (exc.strerror if isinstance(exc, OSError) else None) or "it did not answer as HTTP does"
