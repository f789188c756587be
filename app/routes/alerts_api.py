"""``/api/alerts`` and ``/api/runs/ID/alerts``: what deserves attention, and dismissing it."""

from __future__ import annotations

from typing import Literal

from apiflask import APIBlueprint
from flask import Response
from pydantic import Field

from app.container import container
from app.routes.answers import Answer
from app.routes.inputs import Query, takes_query
from app.routes.replies import reply
from app.security.access import requires

bp = APIBlueprint("alerts_api", __name__, url_prefix="/api")


class AlertsQuery(Query):
    """Which alerts."""

    active: bool | None = Field(
        default=None, description="true: neither over nor dismissed; false: the others."
    )
    limit: int = Field(default=200, ge=1, le=1000)


class AlertAnswer(Answer):
    """Something that deserves attention. Times are Unix seconds."""

    id: int
    run: str
    run_name: str
    attempt: int
    category: str | None = Field(description="What kind it is; null where the trainer itself said it.")
    level: Literal["info", "warning", "error"]
    title: str
    text: str
    raised_step: int | None
    raised_at: float
    resolved_step: int | None
    resolved_at: float | None = Field(description="When it was over; null while it lasts.")
    outcome: str | None = Field(description="How it was over, in words.")
    dismissed_at: float | None
    active: bool


class AlertListAnswer(Answer):
    """Alerts, newest first."""

    alerts: list[AlertAnswer]


@bp.get("/runs/<run_id>/alerts")
@requires("viewer")
@bp.output(AlertListAnswer)
@bp.doc(tags=["Alerts"])
def of_run(run_id: str) -> Response:
    """List the alerts of a run, those that last first."""
    return reply({"alerts": container().alerts.of_run(run_id)})


@bp.get("/alerts")
@requires("viewer")
@takes_query(AlertsQuery)
@bp.output(AlertListAnswer)
@bp.doc(tags=["Alerts"])
def index(query: AlertsQuery) -> Response:
    """List the alerts of all runs, newest first."""
    return reply({"alerts": container().alerts.of_all_runs(active=query.active, limit=query.limit)})


@bp.post("/alerts/<alert_id>/dismiss")
@requires("owner")
@bp.output(AlertAnswer)
@bp.doc(tags=["Alerts"])
def dismiss(alert_id: str) -> Response:
    """Take an alert off the active ones; as long as it lasts, it is not raised again."""
    return reply(container().alerts.dismiss(alert_id))
