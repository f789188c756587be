"""Answers as JSON bytes: numbers that JSON cannot say become null, floats stay exact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from flask import Response

OPTIONS: Final = orjson.OPT_SERIALIZE_NUMPY


def reply(payload: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response; NaN and infinities become null."""
    return Response(
        orjson.dumps(payload, option=OPTIONS),
        status=status,
        headers=dict(headers or {}),
        mimetype="application/json",
    )


def no_content() -> Response:
    """204: done, nothing to say."""
    response = Response(status=204)
    del response.headers["Content-Type"]
    return response
