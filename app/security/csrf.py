"""Cross-site request forgery: a foreign page must not be able to act with our cookie.

A state change that is, or becomes, authorised by a cookie needs three things
no foreign page can send together: ``Sec-Fetch-Site: same-origin`` (or, from
browsers without it, an Origin of ours), the header ``X-Requested-By:
signalbox``, and a body, if there is one, of a type that no form can send:
JSON, or the bytes of a file.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from flask import Request

from app.errors import Forbidden

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
HEADER: Final = "X-Requested-By"
HEADER_VALUE: Final = "signalbox"
BODY_TYPES: Final = ("application/json", "application/octet-stream")


def check(request: Request, *, origins: Collection[str]) -> None:
    """Let the request pass, or refuse it.

    Raises:
        Forbidden: the message says which of the three is missing.
    """
    if request.method in SAFE_METHODS:
        return
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin", "").lower()
    if site is not None and site != "same-origin":
        raise Forbidden("changes are accepted from this server's own pages only")
    if site is None and origin not in origins:
        hint = "send an Origin header"
        raise Forbidden("changes are accepted from this server's own pages only", hint=hint)
    if request.headers.get(HEADER) != HEADER_VALUE:
        raise Forbidden(f"the header {HEADER}: {HEADER_VALUE} is missing")
    if _has_body(request) and request.mimetype not in BODY_TYPES:
        raise Forbidden(f"the body must be {' or '.join(BODY_TYPES)}")


def _has_body(request: Request) -> bool:
    return bool(request.content_length) or "Transfer-Encoding" in request.headers
