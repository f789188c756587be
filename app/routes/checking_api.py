"""``/api/preflight`` and ``/api/verify``: check a run before it starts, rehearse training on this machine."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from app.container import container
from app.routes.checking_answers import PreflightAnswer, VerifyAnswer
from app.routes.inputs import takes_body
from app.routes.replies import reply
from app.routes.requests import PreflightRequest
from app.security.access import requires
from app.services.run_plan import plan_run

bp = APIBlueprint("checking_api", __name__, url_prefix="/api")


@bp.post("/preflight")
@requires("owner")
@takes_body(PreflightRequest)
@bp.output(PreflightAnswer)
@bp.doc(tags=["Runs"])
def preflight(body: PreflightRequest) -> Response:
    """Check a run before it starts; with `smoke` a few real steps are trained and measured."""
    parts = container()
    plan = plan_run(
        body.recipe,
        body.dataset,
        body.params,
        profile=body.profile,
        environment=body.environment,
        columns=body.columns,
        script=body.script,
        settings=parts.settings,
    )
    return reply(parts.preflight.report(plan, smoke=body.smoke))


@bp.get("/verify")
@requires("owner")
@bp.output(VerifyAnswer)
@bp.doc(tags=["Doctor"])
def show() -> Response:
    """Show the last rehearsal, and the stages of the one that is running."""
    return reply(container().verification.status())


@bp.post("/verify")
@requires("owner")
@bp.output(VerifyAnswer, status_code=202)
@bp.doc(tags=["Doctor"])
def rehearse() -> Response:
    """Train, kill, resume and grow with real processes; while a rehearsal runs, no second one is started."""
    return reply(container().verification.rehearse(), status=202)


@bp.post("/verify/cancel")
@requires("owner")
@bp.output(VerifyAnswer, status_code=202)
@bp.doc(tags=["Doctor"])
def cancel() -> Response:
    """End the running rehearsal; it cleans up first. Harmless when none runs."""
    return reply(container().verification.cancel(), status=202)
