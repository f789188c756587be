"""Every error as a response: one JSON shape for machines, a plain page for people.

A mistake of the caller keeps its own words.  Anything unforeseen is logged
with an id, and only the id is told.
"""

from __future__ import annotations

import logging
import secrets
from http import HTTPStatus
from typing import Any, Final

from apiflask import HTTPError
from flask import Flask, Response, make_response, render_template, request
from markupsafe import escape
from werkzeug.exceptions import HTTPException

from app.errors import SignalboxError
from app.security.checkpoint import is_for_machines

logger: Final = logging.getLogger("signalbox.errors")
_EVOLUTION: Final = "/api/evolution/"
_CODES: Final = {
    400: "bad_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many_requests",
    503: "unavailable",
}
_WORDS: Final = {
    400: "the request cannot be understood; is its body valid JSON?",
    404: "there is nothing at this address",
    405: "this address does not take that method",
    413: "the body is too large",
    415: "the body must be application/json",
}
_PAGE: Final = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title} · Signalbox</title></head>
<body><main><h1>{title}</h1><p>{message}</p><p><a href="/">Back to the runs</a></p></main></body>
</html>
"""


def install(app: Flask) -> None:
    """Answer every kind of error of ``app`` in its one shape."""
    app.register_error_handler(SignalboxError, on_signalbox_error)
    app.register_error_handler(HTTPError, on_api_error)
    app.register_error_handler(HTTPException, on_http_error)
    app.register_error_handler(Exception, on_unforeseen)


def on_signalbox_error(error: SignalboxError) -> Response:
    """An error of our own tree."""
    if error.status >= 500:
        logger.warning("%s %s: %s", request.method, request.path, error.message)
    return _respond(error.status, error.to_json()["error"])


def on_api_error(error: HTTPError) -> Response:
    """What the API framework found wrong with a request."""
    status = error.status_code
    body = {"code": _CODES.get(status, "error"), "message": error.message or HTTPStatus(status).phrase}
    field, reason = _first_problem(error.detail)
    if field:
        body |= {"field": field, "message": f"{field}: {reason}"}
    return _respond(status, body)


def on_http_error(error: HTTPException) -> Response | HTTPException:
    """What Flask and Werkzeug raise: unknown addresses, wrong methods, broken JSON, redirects."""
    status = error.code or 500
    if status < 400:
        return error
    is_generic = error.description == type(error).description
    message = (_WORDS.get(status) if is_generic else None) or error.description or HTTPStatus(status).phrase
    response = _respond(status, {"code": _CODES.get(status, "error"), "message": message})
    for name, value in error.get_headers():
        if name not in ("Content-Type", "Content-Length"):
            response.headers[name] = value
    return response


def on_unforeseen(error: Exception) -> Response:
    """A fault of ours: the log has the details, the caller an id to quote."""
    error_id = secrets.token_hex(4)
    logger.error("error %s in %s %s", error_id, request.method, request.path, exc_info=error)
    message = f"something went wrong on the server; its log has the details under {error_id}"
    return _respond(500, {"code": "internal", "message": message})


def _respond(status: int, body: dict[str, Any]) -> Response:
    if request.path.startswith(_EVOLUTION):  # clients of the original system print ``error`` as it is
        rest = {name: value for name, value in body.items() if name != "message"}
        return _json(status, {"error": body["message"], **rest})
    if is_for_machines(request.path):
        return _json(status, {"error": body})
    if status >= 500:  # whatever broke may break a template too
        title = f"{status} {HTTPStatus(status).phrase}"
        return make_response(_PAGE.format(title=escape(title), message=escape(body["message"])), status)
    page = render_template("error.html", status=status, message=body["message"], hint=body.get("hint"))
    return make_response(page, status)


def _json(status: int, body: dict[str, Any]) -> Response:
    response = make_response(body, status)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _first_problem(detail: object) -> tuple[str, str]:
    """The first field with its message in the framework's nested ``{"json": {"name": ["why"]}}``."""
    path: list[str] = []
    while isinstance(detail, dict) and detail:
        name, detail = next(iter(detail.items()))
        path.append(str(name))
    if isinstance(detail, list) and detail:
        detail = detail[0]
    return ".".join(path[1:]), str(detail)
