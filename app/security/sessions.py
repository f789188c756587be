"""The browser's session cookie: its name, its flags, reading it back.

Cookies do not know about ports, so the port is part of the name; what keeps
other local servers' pages out is the check of Host and Origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from flask import Response

from app.config import Settings
from app.services.access import SESSION_LIFE_S


def cookie_name(settings: Settings) -> str:
    """Name of the session cookie of the server on this port."""
    return f"signalbox_{settings.port}_session"


def set_cookie(response: Response, settings: Settings, session_id: str) -> None:
    """Hand the session id to the browser, out of reach of scripts and other sites."""
    response.set_cookie(
        cookie_name(settings),
        session_id,
        max_age=int(SESSION_LIFE_S),
        path="/",
        httponly=True,
        samesite="Strict",
    )


def clear_cookie(response: Response, settings: Settings) -> None:
    """Take the session id back."""
    response.delete_cookie(cookie_name(settings), path="/", httponly=True, samesite="Strict")


def session_id_of(environ: Mapping[str, Any], settings: Settings) -> str | None:
    """The session id a WSGI request or socket handshake carries, if any."""
    try:
        morsel = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(cookie_name(settings))
    except CookieError:
        return None
    return morsel.value if morsel is not None and morsel.value else None
