"""Response headers: what a browser may do with our pages and answers."""

from __future__ import annotations

from typing import Final

from flask import Flask, Response, request

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src-elem 'self'",
        "style-src-attr 'unsafe-inline'",  # Plotly positions its parts by style attributes
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
    )
)
_ALWAYS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_STATIC: Final = ("/static/",)


def install(app: Flask) -> None:
    """Add the headers to every response of ``app``, errors included."""
    app.after_request(add_headers)


def add_headers(response: Response) -> Response:
    """Set what is always set; whatever is not a static file is never cached."""
    for name, value in _ALWAYS.items():
        response.headers.setdefault(name, value)
    if not request.path.startswith(_STATIC):
        response.headers.setdefault("Cache-Control", "no-store")
    return response
