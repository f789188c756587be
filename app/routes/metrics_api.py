"""``/api/runs/ID/metrics`` and ``/api/metrics``: series, downsampled to a pixel budget."""

from __future__ import annotations

from typing import Any, Final

from apiflask import APIBlueprint
from flask import Response

from app.container import container
from app.errors import InvalidRequest
from app.routes.answers import ManySeriesAnswer, MetricNamesAnswer, SeriesAnswer
from app.routes.inputs import takes_query
from app.routes.replies import reply
from app.routes.requests import ManySeriesQuery, SeriesQuery
from app.security.access import requires
from app.services.metrics import SeriesPoints

MIN_POINTS: Final = 10
MAX_POINTS: Final = 5000
MAX_RUNS: Final = 500
bp = APIBlueprint("metrics_api", __name__, url_prefix="/api")


@bp.get("/runs/<run_id>/metrics")
@requires("viewer")
@bp.output(MetricNamesAnswer)
@bp.doc(tags=["Metrics"])
def names(run_id: str) -> Response:
    """List the series of a run."""
    return reply({"metrics": container().metrics.names(run_id)})


@bp.get("/runs/<run_id>/metrics/<path:name>")
@requires("viewer")
@takes_query(SeriesQuery)
@bp.output(SeriesAnswer)
@bp.doc(tags=["Metrics"])
def read(run_id: str, name: str, query: SeriesQuery) -> Response:
    """Read one series, for example `train/loss`, downsampled to at most `points` points.

    With `after=n` the points numbered from n on come as they are, for a browser that has the first n.
    """
    if query.start is not None and query.stop is not None and query.start > query.stop:
        raise InvalidRequest(f"is beyond to={query.stop:g}, so nothing lies between", field="from")
    series = container().metrics.read(
        run_id,
        name,
        x=query.x,
        points=_clamp(query.points),
        start=query.start,
        stop=query.stop,
        after=query.after,
    )
    return reply(_to_json(series))


@bp.get("/metrics")
@requires("viewer")
@takes_query(ManySeriesQuery)
@bp.output(ManySeriesAnswer)
@bp.doc(tags=["Metrics"])
def read_many(query: ManySeriesQuery) -> Response:
    """Read one metric of many runs in one request; runs that lack it are left out."""
    run_ids = list(dict.fromkeys(part.strip() for part in query.runs.split(",") if part.strip()))
    if not 1 <= len(run_ids) <= MAX_RUNS:
        raise InvalidRequest(f"name 1 to {MAX_RUNS} runs, got {len(run_ids)}", field="runs")
    series = container().metrics.read_many(run_ids, query.name, points=_clamp(query.points))
    return reply(
        {
            "name": query.name,
            "series": [{"run": run_id, **_to_json(points)} for run_id, points in series.items()],
        }
    )


def _to_json(series: SeriesPoints) -> dict[str, Any]:
    return {
        "name": series.name,
        "start": series.start,
        "origin": series.origin,
        "steps": series.steps,
        "times": series.times,
        "values": series.values,
        "total_points": series.total_points,
        "downsampled": series.downsampled,
    }


def _clamp(points: int) -> int:
    return min(MAX_POINTS, max(MIN_POINTS, points))
