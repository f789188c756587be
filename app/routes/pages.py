"""The pages people open.  Each is a frame with the facts it needs first; ES modules fill the rest."""

from __future__ import annotations

import time
from typing import Any

from apiflask import APIBlueprint
from flask import Flask, redirect, render_template, request, send_file, url_for
from flask.typing import ResponseReturnValue

from app.charts.catalogue import charts_of
from app.charts.chart import describe
from app.container import container
from app.domain.callers import Scope
from app.errors import NotFound
from app.routes.plotly_asset import compressed_plotly, plotly_source, plotly_version
from app.routes.static_files import ONE_YEAR_S
from app.security.access import caller, public, requires
from trainer.recipes.registry import recipes

bp = APIBlueprint("pages", __name__, enable_openapi=False)


@bp.app_context_processor
def frame() -> dict[str, Any]:
    """What every page's frame needs: addresses, and the server's clock."""
    return {
        "plotly_url": url_for("pages.plotly_script", version=plotly_version()),
        "server_time": time.time(),
    }


@bp.get("/")
@requires("viewer")
def runs() -> ResponseReturnValue:
    """All runs."""
    return render_template("runs.html")


@bp.get("/runs/new")
@requires("viewer")
def new_run() -> ResponseReturnValue:
    """The form that starts a run."""
    return render_template("new_run.html")


@bp.get("/runs/<run_id>")
@requires("viewer")
def run(run_id: str) -> ResponseReturnValue:
    """One run, live."""
    services = container().runs
    found = services.get(run_id)
    recipe = recipes().get(found.recipe)
    return render_template(
        "run.html",
        run=services.to_json(found),
        charts=[describe(chart) for chart in charts_of("run", task=recipe.task if recipe else None)],
        can_be_asked=bool(recipe and recipe.answerer),
    )


@bp.get("/doctor")
@requires("owner")
def doctor() -> ResponseReturnValue:
    """What on this machine makes runs die."""
    return render_template("doctor.html")


@bp.get("/diagnose")
@requires("viewer")
def diagnose() -> ResponseReturnValue:
    """Paste or drop a log, and be told why its training died."""
    return render_template("diagnose.html")


@bp.get("/settings")
@requires("viewer")
def settings() -> ResponseReturnValue:
    """Notifications of this browser, and the webhook."""
    return render_template("settings.html", is_owner=caller().may(Scope.OWNER))


@bp.get("/favicon.ico")
@public
def favicon() -> ResponseReturnValue:
    """Browsers ask for it by habit."""
    return redirect(url_for("static", filename="favicon.svg"))


@bp.get("/static/vendor/plotly-<version>.js")
@public
def plotly_script(version: str) -> ResponseReturnValue:
    """The installed package's plotly.js; its version is in the address, so it may be kept for good."""
    if version != plotly_version():
        raise NotFound(f"plotly.js {version} is not installed", hint=f"installed is {plotly_version()}")
    if request.accept_encodings["gzip"] > 0:
        path = compressed_plotly(container().settings.instance / "cache")
        response = send_file(path, mimetype="text/javascript", max_age=ONE_YEAR_S, conditional=True)
        response.headers["Content-Encoding"] = "gzip"
    else:
        response = send_file(
            plotly_source(), mimetype="text/javascript", max_age=ONE_YEAR_S, conditional=True
        )
    response.headers["Vary"] = "Accept-Encoding"
    response.cache_control.immutable = True
    return response


def register(app: Flask) -> None:
    """Add the pages to ``app``."""
    app.register_blueprint(bp)
