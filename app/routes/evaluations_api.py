"""``/api/runs/ID/evaluations``: what evaluations found beyond numbers, such as a confusion matrix."""

from __future__ import annotations

from typing import Any

from apiflask import APIBlueprint
from flask import Response, request
from pydantic import Field

from app.container import container
from app.routes.answers import Answer
from app.routes.replies import reply
from app.security.access import requires
from app.services.evaluations import evaluated_steps, evaluation
from trainer.protocol.run_folder import RunPaths

bp = APIBlueprint("evaluations_api", __name__, url_prefix="/api/runs/<run_id>/evaluations")


class EvaluationStepsAnswer(Answer):
    """The steps whose evaluations have details."""

    run: str
    steps: list[int]


class EvaluationAnswer(Answer):
    """What one evaluation found; of a classifier the fields named here."""

    step: int
    task: str
    previous_step: int | None
    next_step: int | None
    labels: list[dict[str, Any]] = Field(
        default=[], description="name, support, predicted, precision, recall, f1 of each label."
    )
    confusion: list[list[int]] = Field(
        default=[],
        description="truth and prediction (places among labels) and count, but for zeros.",
    )
    bins: list[dict[str, Any]] = Field(
        default=[], description="lower, upper, count, confidence, accuracy of each range of confidence."
    )


@bp.get("")
@requires("viewer")
@bp.output(EvaluationStepsAnswer)
@bp.doc(tags=["Run details"])
def steps(run_id: str) -> Response:
    """List the steps whose evaluations have details."""
    return reply({"run": run_id, "steps": evaluated_steps(_paths(run_id))})


@bp.get("/<step>")
@requires("viewer")
@bp.output(EvaluationAnswer)
@bp.doc(tags=["Run details"], responses={304: "The client's copy is current"})
def show(run_id: str, step: str) -> Response:
    """Show what the evaluation at a step found: a number, `latest` or `first`."""
    response = reply(evaluation(_paths(run_id), step))
    response.add_etag()
    response.cache_control.no_cache = True
    response.make_conditional(request)
    return response


def _paths(run_id: str) -> RunPaths:
    """The folder of a run that exists."""
    runs = container().runs
    return runs.paths(runs.get(run_id).id)
