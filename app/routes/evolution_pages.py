"""The pages of an evolution: snapshots, one example, a comparison, the map, what was learned when."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import render_template
from flask.typing import ResponseReturnValue

from app.charts.catalogue import charts_of
from app.charts.chart import describe
from app.security.access import requires

bp = APIBlueprint("evolution_pages", __name__, enable_openapi=False)


@bp.get("/evolution")
@requires("viewer")
def datasets() -> ResponseReturnValue:
    """Every dataset that has snapshots."""
    return render_template("evolution.html")


@bp.get("/evolution/<dataset>")
@requires("viewer")
def dataset(dataset: str) -> ResponseReturnValue:
    """What the model answered at each snapshot of one dataset."""
    charts = [describe(chart) for chart in charts_of("evolution")]
    return render_template("evolution_dataset.html", dataset=dataset, charts=charts)


@bp.get("/evolution/<dataset>/examples/<any_text:example_id>")
@requires("viewer")
def example(dataset: str, example_id: str) -> ResponseReturnValue:
    """What became of one example."""
    return render_template("evolution/example.html", dataset=dataset, example_id=example_id)


@bp.get("/evolution/<dataset>/compare")
@requires("viewer")
def compare(dataset: str) -> ResponseReturnValue:
    """What changed between two snapshots, of one run or of two."""
    return render_template("evolution/compare.html", dataset=dataset)


@bp.get("/evolution/<dataset>/map")
@requires("viewer")
def map_of(dataset: str) -> ResponseReturnValue:
    """Where the examples lie among each other, step by step."""
    return render_template("evolution/map.html", dataset=dataset)


@bp.get("/evolution/<dataset>/dynamics")
@requires("viewer")
def dynamics(dataset: str) -> ResponseReturnValue:
    """Which examples were learned early, late, and never."""
    return render_template("evolution/dynamics.html", dataset=dataset)
