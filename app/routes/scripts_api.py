"""``/api/scripts``: people's own scripts, enough to draw the form, and what is wrong with some."""

from __future__ import annotations

from typing import Any

from apiflask import APIBlueprint
from flask import Response, render_template
from flask.typing import ResponseReturnValue
from pydantic import Field

from app.container import container
from app.routes.answers import Answer
from app.routes.replies import reply
from app.security.access import requires
from app.services.scripts import describe_scripts

bp = APIBlueprint("scripts_api", __name__, url_prefix="/api/scripts")
pages = APIBlueprint("scripts_pages", __name__, enable_openapi=False)


class ScriptAnswer(Answer):
    """A registered script; one that cannot be used has no parameters, but says what is wrong."""

    name: str
    title: str
    summary: str
    parameters: list[dict[str, Any]] = Field(description="Like those of a recipe.")
    trouble: dict[str, str] | None = Field(description="place, message and remedy; null for a usable script.")


class ScriptListAnswer(Answer):
    """The registered scripts, and where they are looked for."""

    scripts: list[ScriptAnswer]
    folder: str


@bp.get("")
@requires("viewer")
@bp.output(ScriptListAnswer)
@bp.doc(tags=["Recipes and datasets"])
def index() -> Response:
    """List the registered scripts with their parameters, and what is wrong with those that cannot be used."""
    return reply(describe_scripts(container().settings))


@pages.get("/scripts")
@requires("viewer")
def page() -> ResponseReturnValue:
    """Where scripts are registered, which there are, and what is wrong with some."""
    return render_template("scripts.html")
