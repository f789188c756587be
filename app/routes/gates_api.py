"""``/api/runs/ID/gates``: whether a run's model is worth shipping."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from app.container import container
from app.routes.gates_answers import GatesAnswer
from app.routes.replies import reply
from app.security.access import requires
from app.services.gates import gates_of

bp = APIBlueprint("gates_api", __name__, url_prefix="/api/runs/<run_id>")


@bp.get("/gates")
@requires("viewer")
@bp.output(GatesAnswer)
@bp.doc(tags=["Run details"])
def gates(run_id: str) -> Response:
    """Judge a run by its recipe's gates: GO or NO-GO, now and at its best checkpoint."""
    wired = container()
    return reply(gates_of(run_id, runs=wired.runs, metrics=wired.metrics))
