"""Style sheets, scripts and pictures, under an address that names their content.

A page is some forty small modules.  The stamp in ``/static/STAMP/js/...`` changes
with any of the files, so a browser keeps them for good instead of asking for
each one again; modules import each other relatively and inherit the stamp.  A
page left open over an upgrade asks with its old stamp, and gets today's file.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, Final

from flask import Flask, Response, send_from_directory

from app.security.access import public

ONE_YEAR_S: Final = 365 * 24 * 3600
ENDPOINT: Final = "static"


@cache
def stamp_of(folder: Path) -> str:
    """Twelve hexadecimal digits that stand for the names and contents of all files in ``folder``."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def register(app: Flask, folder: Path) -> None:
    """Serve ``folder``; ``url_for("static", filename=...)`` carries today's stamp."""
    current = stamp_of(folder)

    @public
    def static_file(stamp: str, filename: str) -> Response:
        if stamp != current:
            return send_from_directory(folder, filename)  # no-cache: the browser asks again next time
        response = send_from_directory(folder, filename, max_age=ONE_YEAR_S)
        response.cache_control.immutable = True
        return response

    @app.url_defaults
    def add_stamp(endpoint: str, values: dict[str, Any]) -> None:
        if endpoint == ENDPOINT:
            values.setdefault("stamp", current)

    app.add_url_rule("/static/<stamp>/<path:filename>", ENDPOINT, static_file)
