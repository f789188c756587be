"""The pages of what waits: the queue, and the inbox that feeds it."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import render_template
from flask.typing import ResponseReturnValue

from app.security.access import requires

bp = APIBlueprint("queue_pages", __name__, enable_openapi=False)


@bp.get("/queue")
@requires("viewer")
def queue() -> ResponseReturnValue:
    """What is active and what waits."""
    return render_template("queue.html")


@bp.get("/inbox")
@requires("viewer")
def inbox() -> ResponseReturnValue:
    """What was dropped into the inbox, and the switch."""
    return render_template("inbox.html")
