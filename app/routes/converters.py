"""What a variable part of an address may be, beyond the framework's own kinds."""

from __future__ import annotations

from flask import Flask
from werkzeug.routing import BaseConverter


class AnyText(BaseConverter):
    """The rest of an address, whatever it holds: slashes at any place, and line breaks."""

    regex = "(?s:.+)"
    part_isolating = False
    weight = 200  # as the framework's own ``path``: what is written out in an address comes first


def install(app: Flask) -> None:
    """Let the rules of ``app`` say ``<any_text:name>``, and leave slashes as they were asked for."""
    app.url_map.converters["any_text"] = AnyText
    app.url_map.merge_slashes = False
