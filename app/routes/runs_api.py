"""``/api/runs``: create, list, show, change and delete runs, and give them orders."""

from __future__ import annotations

from typing import Any, Final

from apiflask import APIBlueprint
from flask import Response, url_for

from app.container import container
from app.domain.run_states import RunState
from app.errors import InvalidRequest
from app.routes.answers import PreviewAnswer, RunAnswer, RunListAnswer
from app.routes.inputs import takes_body, takes_headers, takes_query
from app.routes.replies import no_content, reply
from app.routes.requests import (
    CreationHeaders,
    DeleteQuery,
    RunChanges,
    RunListQuery,
    RunRequest,
    TrainingRequest,
)
from app.security.access import requires
from app.store.models import Run
from trainer.protocol.events import Command

_Responses = dict[int | str, dict[str, str | dict[str, dict[str, Any]]]]
_MADE_EARLIER: Final[_Responses] = {
    200: {
        "description": "An earlier request with this Idempotency-Key made this run",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/RunAnswer"}}},
    }
}
bp = APIBlueprint("runs_api", __name__, url_prefix="/api")


@bp.get("/runs")
@requires("viewer")
@takes_query(RunListQuery)
@bp.output(RunListAnswer)
@bp.doc(tags=["Runs"])
def index(query: RunListQuery) -> Response:
    """List runs, newest first."""
    runs, total = container().runs.list(
        states=_states(query.state),
        recipe=query.recipe,
        dataset=query.dataset,
        q=query.q,
        limit=query.limit,
        offset=query.offset,
    )
    return reply({"runs": [container().runs.to_json(run) for run in runs], "total": total})


@bp.post("/runs")
@requires("owner")
@takes_headers(CreationHeaders)
@takes_body(RunRequest)
@bp.output(RunAnswer, status_code=201)
@bp.doc(tags=["Runs"], responses=_MADE_EARLIER)
def create(body: RunRequest, headers: CreationHeaders) -> Response:
    """Queue a run.

    An `Idempotency-Key` header makes a repeated request one run: the second answer is 200.
    """
    run, created = container().runs.create(
        body.recipe,
        body.dataset,
        body.params,
        name=body.name,
        tags=body.tags,
        policy=body.policy.model_dump(exclude_none=True),
        profile=body.profile,
        environment=body.environment,
        columns=body.columns,
        script=body.script,
        priority=body.priority,
        idempotency_key=headers.idempotency_key,
        before_queueing=container().preflight.require if body.preflight == "require" else None,
    )
    return _created(run, status=201 if created else 200)


@bp.post("/preview")
@requires("owner")
@takes_body(TrainingRequest)
@bp.output(PreviewAnswer)
@bp.doc(tags=["Runs"])
def preview(body: TrainingRequest) -> Response:
    """Show the command, the environment and the complete parameters a run would get."""
    runs = container().runs
    shown = runs.preview(
        *(body.recipe, body.dataset, body.params),
        profile=body.profile,
        environment=body.environment,
        columns=body.columns,
        script=body.script,
    )
    return reply(shown)


@bp.get("/runs/<run_id>")
@requires("viewer")
@bp.output(RunAnswer)
@bp.doc(tags=["Runs"])
def show(run_id: str) -> Response:
    """Show a run."""
    return _shown(container().runs.get(run_id))


@bp.patch("/runs/<run_id>")
@requires("owner")
@takes_body(RunChanges)
@bp.output(RunAnswer)
@bp.doc(tags=["Runs"])
def update(run_id: str, body: RunChanges) -> Response:
    """Change a run's name, tags or priority."""
    changes = body.model_dump(exclude_none=True)
    return _shown(container().runs.update(run_id, **changes))


@bp.delete("/runs/<run_id>")
@requires("owner")
@takes_query(DeleteQuery)
@bp.output({}, status_code=204)
@bp.doc(tags=["Runs"])
def delete(run_id: str, query: DeleteQuery) -> Response:
    """Delete an ended run; its folder moves to `instance/trash` unless `purge` is true."""
    container().backfill.forget(run_id)  # before: it writes into the folder
    container().runs.delete(run_id, purge=query.purge)
    container().asking.forget(run_id)
    return no_content()


@bp.post("/runs/<run_id>/stop")
@requires("owner")
@bp.output(RunAnswer, status_code=202)
@bp.doc(tags=["Orders"])
def stop(run_id: str) -> Response:
    """End a run after a last checkpoint; harmless when it has ended."""
    return _shown(container().runs.stop(run_id), status=202)


@bp.post("/runs/<run_id>/kill")
@requires("owner")
@bp.output(RunAnswer, status_code=202)
@bp.doc(tags=["Orders"])
def kill(run_id: str) -> Response:
    """End a run's processes at once, without a checkpoint."""
    return _shown(container().runs.kill(run_id), status=202)


@bp.post("/runs/<run_id>/pause")
@requires("owner")
@bp.output(RunAnswer, status_code=202)
@bp.doc(tags=["Orders"])
def pause(run_id: str) -> Response:
    """Pause a live run between two steps."""
    return _shown(container().runs.command(run_id, Command.PAUSE), status=202)


@bp.post("/runs/<run_id>/resume")
@requires("owner")
@bp.output(RunAnswer, status_code=202)
@bp.doc(tags=["Orders"])
def resume(run_id: str) -> Response:
    """Let a paused run go on, or queue an ended one for a further attempt from its last checkpoint."""
    return _shown(container().runs.resume(run_id), status=202)


@bp.post("/runs/<run_id>/checkpoint")
@requires("owner")
@bp.output(RunAnswer, status_code=202)
@bp.doc(tags=["Orders"])
def checkpoint(run_id: str) -> Response:
    """Save a checkpoint at the next step."""
    return _shown(container().runs.command(run_id, Command.CHECKPOINT), status=202)


@bp.post("/runs/<run_id>/snapshot")
@requires("owner")
@bp.output(RunAnswer, status_code=202)
@bp.doc(tags=["Orders"])
def snapshot(run_id: str) -> Response:
    """Ask the probes at the next step."""
    return _shown(container().runs.command(run_id, Command.SNAPSHOT), status=202)


@bp.post("/runs/<run_id>/retry")
@requires("owner")
@bp.output(RunAnswer, status_code=202)
@bp.doc(tags=["Orders"])
def retry(run_id: str) -> Response:
    """Queue a failed, stopped or lost run for a further attempt from its last checkpoint."""
    return _shown(container().runs.retry(run_id), status=202)


@bp.post("/runs/<run_id>/clone")
@requires("owner")
@takes_headers(CreationHeaders)
@bp.output(RunAnswer, status_code=201)
@bp.doc(tags=["Orders"], responses=_MADE_EARLIER)
def clone(run_id: str, headers: CreationHeaders) -> Response:
    """Queue a new run with the same settings.

    An `Idempotency-Key` header makes a repeated request one run: the second answer is 200.
    """
    run, created = container().runs.clone(run_id, idempotency_key=headers.idempotency_key)
    return _created(run, status=201 if created else 200)


def _shown(run: Run, *, status: int = 200) -> Response:
    return reply(container().runs.to_json(run), status=status)


def _created(run: Run, *, status: int) -> Response:
    location = url_for("runs_api.show", run_id=run.id)
    return reply(container().runs.to_json(run), status=status, headers={"Location": location})


def _states(raw: str | None) -> list[str] | None:
    if raw is None:
        return None
    wanted = [part.strip() for part in raw.split(",") if part.strip()]
    unknown = [part for part in wanted if part not in list(RunState)]
    if unknown:
        raise InvalidRequest(
            f"there is no state {unknown[0]!r}", field="state", hint=f"there are: {', '.join(RunState)}"
        )
    return wanted
