"""``/api/queue``: what waits and until when, its order, and making room for the next."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from app.container import container
from app.routes.inputs import takes_body
from app.routes.queue_answers import QueueAnswer, QueueOrder, QueueSkip, SkipAnswer
from app.routes.replies import reply
from app.security.access import requires

bp = APIBlueprint("queue_api", __name__, url_prefix="/api/queue")


@bp.get("")
@requires("viewer")
@bp.output(QueueAnswer)
@bp.doc(tags=["Queue"])
def show() -> Response:
    """Show what is active and what waits, with the starts and ends that can be known."""
    return reply(container().queue_parts.desk.view())


@bp.post("/order")
@requires("owner")
@takes_body(QueueOrder)
@bp.output(QueueAnswer)
@bp.doc(tags=["Queue"])
def order(body: QueueOrder) -> Response:
    """Arrange queued runs, each within its priority; all of them or none."""
    return reply(container().queue_parts.desk.arrange(body.runs))


@bp.post("/skip")
@requires("owner")
@takes_body(QueueSkip)
@bp.output(SkipAnswer, status_code=202)
@bp.doc(tags=["Queue"])
def skip(body: QueueSkip) -> Response:
    """Stop an active run after a last checkpoint, so that the next one starts."""
    return reply(container().queue_parts.desk.skip(body.run), status=202)
