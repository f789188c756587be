"""From the credentials of a request, or of a socket handshake, to its caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from app.config import Settings
from app.domain.callers import ANONYMOUS, Caller
from app.security.sessions import session_id_of
from app.services.access import Access

MAX_TOKEN_CHARS: Final = 200


def bearer_of(environ: Mapping[str, Any]) -> str | None:
    """The token of ``Authorization: Bearer TOKEN``; empty text for any other authorization."""
    header = environ.get("HTTP_AUTHORIZATION")
    if header is None:
        return None
    kind, _, token = str(header).partition(" ")
    token = token.strip()
    return token if kind.lower() == "bearer" and len(token) <= MAX_TOKEN_CHARS else ""


def identify(environ: Mapping[str, Any], *, access: Access, settings: Settings) -> Caller:
    """Who is calling. A bearer token decides alone: a wrong one never falls back to the cookie."""
    token = bearer_of(environ)
    if token is not None:
        return access.by_bearer(token) if token else ANONYMOUS
    session_id = session_id_of(environ, settings)
    return access.by_session(session_id) if session_id else ANONYMOUS
