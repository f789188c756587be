"""``POST /api/runs/ID/mark-ended``: a person tells how a run ended that nobody can reach any more."""

from __future__ import annotations

from typing import Annotated, Literal

from apiflask import APIBlueprint
from flask import Response
from pydantic import AfterValidator, Field

from app.container import container
from app.domain.run_states import RunState
from app.routes.answers import RunAnswer
from app.routes.inputs import Body, takes_body
from app.routes.replies import reply
from app.routes.requests import plain_text
from app.security.access import requires

bp = APIBlueprint("mark_ended_api", __name__, url_prefix="/api")


class MarkEnded(Body):
    """How the run ended, as far as the person knows."""

    state: Literal["stopped", "failed"]
    reason: Annotated[str, Field(max_length=500), AfterValidator(plain_text)] | None = None


@bp.post("/runs/<run_id>/mark-ended")
@requires("owner")
@takes_body(MarkEnded)
@bp.output(RunAnswer)
@bp.doc(tags=["Orders"])
def mark_ended(run_id: str, body: MarkEnded) -> Response:
    """Declare a run ended whose supervisor is gone; refused while one is alive."""
    run = container().queue_parts.endings.mark_ended(
        run_id, state=RunState(body.state), reason=body.reason or ""
    )
    return reply(container().runs.to_json(run))
