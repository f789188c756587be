"""The pages of datasets: all of them, and one with its versions."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import render_template
from flask.typing import ResponseReturnValue

from app.container import container
from app.domain.callers import Scope
from app.security.access import caller, requires

bp = APIBlueprint("dataset_pages", __name__, enable_openapi=False)


@bp.get("/datasets")
@requires("viewer")
def datasets() -> ResponseReturnValue:
    """What can be trained on, and adding a file."""
    return render_template("datasets.html", is_owner=caller().may(Scope.OWNER))


@bp.get("/datasets/<name>")
@requires("viewer")
def dataset(name: str) -> ResponseReturnValue:
    """One registered dataset."""
    shown = container().datasets.show(name)
    return render_template("dataset.html", dataset=shown, is_owner=caller().may(Scope.OWNER))
