"""``/api/runs/ID/…``: attempts, environment, checkpoints, events and output of a run."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from app.container import container
from app.errors import InvalidRequest
from app.routes.answers import (
    AttemptListAnswer,
    CheckpointListAnswer,
    EnvironmentAnswer,
    EventListAnswer,
    FindingListAnswer,
    LogsAnswer,
)
from app.routes.inputs import takes_query
from app.routes.replies import reply
from app.routes.requests import AttemptQuery, EventsQuery, LogsQuery
from app.security.access import requires
from trainer.protocol.events import EventType

bp = APIBlueprint("run_details_api", __name__, url_prefix="/api/runs/<run_id>")


@bp.get("/attempts")
@requires("viewer")
@bp.output(AttemptListAnswer)
@bp.doc(tags=["Run details"])
def attempts(run_id: str) -> Response:
    """List the launches of a run's trainer."""
    return reply({"attempts": container().runs.attempts(run_id)})


@bp.get("/environment")
@requires("viewer")
@takes_query(AttemptQuery)
@bp.output(EnvironmentAnswer)
@bp.doc(tags=["Run details"])
def environment(run_id: str, query: AttemptQuery) -> Response:
    """Show what an attempt was started with: the command, and each variable with its reason."""
    return reply(container().runs.environment(run_id, attempt=query.attempt))


@bp.get("/checkpoints")
@requires("viewer")
@bp.output(CheckpointListAnswer)
@bp.doc(tags=["Run details"])
def checkpoints(run_id: str) -> Response:
    """List the checkpoints a run has announced."""
    return reply({"checkpoints": container().runs.checkpoints(run_id)})


@bp.get("/events")
@requires("viewer")
@takes_query(EventsQuery)
@bp.output(EventListAnswer)
@bp.doc(tags=["Run details"])
def events(run_id: str, query: EventsQuery) -> Response:
    """List the newest sparse events: alerts, phases, attempts, states, snapshots."""
    return reply({"events": container().runs.events(run_id, types=_types(query.types), limit=query.limit)})


@bp.get("/findings")
@requires("viewer")
@bp.output(FindingListAnswer)
@bp.doc(tags=["Run details"])
def findings(run_id: str) -> Response:
    """Tell why a run's attempts failed, in words, with what helps."""
    return reply({"findings": container().runs.findings(run_id)})


@bp.get("/logs")
@requires("viewer")
@takes_query(LogsQuery)
@bp.output(LogsAnswer)
@bp.doc(tags=["Run details"])
def logs(run_id: str, query: LogsQuery) -> Response:
    """Read a piece of an attempt's output, by default the last 64 KiB.

    Pieces never begin or end inside a character; `next_offset` is where to go on.
    """
    piece = container().runs.output(
        run_id, attempt=query.attempt, offset=query.offset, limit_bytes=query.limit
    )
    return reply({"run": run_id, **piece})


def _types(raw: str | None) -> list[str] | None:
    if raw is None:
        return None
    wanted = [part.strip() for part in raw.split(",") if part.strip()]
    unknown = [part for part in wanted if part not in list(EventType)]
    if unknown:
        raise InvalidRequest(
            f"there is no event type {unknown[0]!r}",
            field="types",
            hint=f"there are: {', '.join(EventType)}",
        )
    return wanted
