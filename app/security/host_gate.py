"""The outermost WSGI layer: who is addressed, from which page, and is there room.

It stands in front of HTTP *and* ``/socket.io``.  ``Host`` must be, to the
letter, a name this server goes by; ``Origin``, where a browser sends one, must
be one of the same names.  No wildcards, no prefixes, no trust in forwarded
headers: that is what keeps rebound DNS names and foreign pages out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import orjson

from app.config import Settings, is_loopback

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

SOCKET_PATH: Final = "/socket.io"
RESERVED_SOCKETS: Final = 16  # kept for supervisors, so that open tabs never starve a Stop
_REASONS: Final = {
    400: "400 Bad Request",
    403: "403 Forbidden",
    421: "421 Misdirected Request",
    503: "503 Service Unavailable",
}


class Refusal(Exception):
    """The request goes no further."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class HostGate:
    """Lets through requests for our own names, from our own pages or from no page at all."""

    def __init__(self, app: WSGIApplication, settings: Settings) -> None:
        self._app = app
        self._hosts = allowed_hosts(settings)
        self._origins = allowed_origins(settings)
        self._max_sockets = settings.max_sockets
        self._num_sockets = 0
        self._lock = threading.Lock()

    @property
    def num_sockets(self) -> int:
        """Websockets being served now."""
        return self._num_sockets

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            self._check(environ)
            if not environ.get("PATH_INFO", "").startswith(SOCKET_PATH):
                return self._app(environ, start_response)
            self._take_slot(environ)
        except Refusal as refusal:
            return _refuse(refusal, start_response)
        try:
            return self._app(environ, start_response)
        finally:  # the driver serves the whole life of the socket inside the call
            with self._lock:
                self._num_sockets -= 1

    def _check(self, environ: WSGIEnvironment) -> None:
        host = environ.get("HTTP_HOST", "")
        if not host:
            raise Refusal(400, "host_missing", "the request has no Host header")
        if host.lower() not in self._hosts:
            raise Refusal(
                421,
                "host_not_allowed",
                "this server does not go by that name; if it should, add it to SIGNALBOX_ALLOWED_HOSTS",
            )
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and origin.lower() not in self._origins:
            raise Refusal(403, "origin_not_allowed", "requests from pages of other origins are refused")
        if environ.get("PATH_INFO", "").startswith(SOCKET_PATH):
            if origin is None and environ.get("HTTP_COOKIE"):
                raise Refusal(403, "origin_missing", "a browser's socket must say which page opens it")
            if environ.get("REQUEST_METHOD") != "GET":
                raise Refusal(403, "websocket_only", "only websocket handshakes are answered here")

    def _take_slot(self, environ: WSGIEnvironment) -> None:
        limit = self._max_sockets
        if environ.get("HTTP_COOKIE"):
            limit -= min(RESERVED_SOCKETS, limit // 4)
        with self._lock:
            if self._num_sockets >= limit:
                raise Refusal(503, "too_many_sockets", "too many live connections; close a tab and try again")
            self._num_sockets += 1


def allowed_hosts(settings: Settings) -> frozenset[str]:
    """Every ``Host`` header, lower case, under which the server answers."""
    hosts = set()
    for name in _own_names(settings):
        hosts.add(f"{name}:{settings.port}")
        if settings.port == 80:
            hosts.add(name)
    for name in settings.allowed_hosts:
        hosts |= {_bracketed(name), f"{_bracketed(name)}:{settings.port}"}
    return frozenset(hosts)


def allowed_origins(settings: Settings) -> frozenset[str]:
    """Every ``Origin`` header, lower case, of our own pages; https only for configured names."""
    origins = {f"http://{host}" for host in allowed_hosts(settings)}
    for name in settings.allowed_hosts:
        origins |= {f"https://{_bracketed(name)}", f"https://{_bracketed(name)}:{settings.port}"}
    return frozenset(origins)


def _own_names(settings: Settings) -> set[str]:
    names = {"localhost", "127.0.0.1", "[::1]"}
    if is_loopback(settings.host):
        names.add(_bracketed(settings.host))
    return names


def _bracketed(name: str) -> str:
    return f"[{name.strip('[]')}]" if ":" in name else name


def _refuse(refusal: Refusal, start_response: StartResponse) -> Iterable[bytes]:
    body = orjson.dumps({"error": {"code": refusal.code, "message": refusal.message}})
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
        ("Connection", "close"),
    ]
    start_response(_REASONS[refusal.status], headers)
    return [body]
