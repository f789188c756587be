"""``/api/runs/ID/probes`` and ``…/snapshots``: probes added to a run, and asking its kept checkpoints."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import orjson
from apiflask import APIBlueprint
from flask import Response, request
from pydantic import Field
from werkzeug.exceptions import RequestEntityTooLarge

from app.container import container
from app.errors import InvalidRequest, TooLarge
from app.routes.answers import Answer
from app.routes.inputs import Body, Query, takes_body, takes_query
from app.routes.replies import reply
from app.security.access import requires

MAX_BODY_BYTES: Final = 16 * 1024 * 1024

bp = APIBlueprint("backfill_api", __name__, url_prefix="/api/runs/<run_id>")


class ProbesQuery(Query):
    """What becomes of those there are."""

    replace: bool = Field(default=False, description="Put these in the place of all that were added.")


class BackfillRequest(Body):
    """Which checkpoints are asked what."""

    checkpoint: Annotated[int, Field(ge=0, le=2**53)] | Annotated[str, Field(min_length=1, max_length=20)] = (
        Field(default="all", description="`all`, `best`, `last`, or a step.")
    )
    probes: Literal["own", "added"] = Field(
        default="own", description="The run's own probes, or those added to it."
    )


class ProbeAnswer(Answer):
    """An added probe."""

    example_id: str
    input: str
    expected_output: str
    group: str


class ProbesAnswer(Answer):
    """What has been added to a run."""

    probes: list[ProbeAnswer]
    dataset: str = Field(description="Under which name their snapshots stand in the evolution.")
    expects: str = Field(description="What `expected_output` has to be for this run, in words.")
    note: str
    has_answers: bool = Field(
        description="Whether they were ever asked: by the training, or of a checkpoint."
    )


class BackfillJobAnswer(Answer):
    """A job, running or ended."""

    checkpoint: str
    probes: Literal["own", "added"]
    started_at: float
    ended_at: float | None
    doing: dict[str, Any] | None = Field(description="`detail` and `fraction` (0..1) while it runs.")
    snapshots: list[dict[str, Any]] = Field(
        description="`step`, `result` (asked, known, gone, undelivered), perhaps `summary` and `cost_s`."
    )
    words: str | None = Field(description="What came of it, for a person.")
    trouble: str | None = Field(description="Why it ended early, for a person.")
    findings: list[dict[str, Any]]


class BackfillAnswer(Answer):
    """What can be asked, and the newest job."""

    why_not: str | None = Field(description="Why this run's checkpoints cannot be asked; null: they can.")
    num_checkpoints: int
    has_added: bool
    running: bool
    job: BackfillJobAnswer | None


@bp.get("/probes")
@requires("viewer")
@bp.output(ProbesAnswer)
@bp.doc(tags=["Evolution"])
def probes(run_id: str) -> Response:
    """List the probes added to a run."""
    return reply(container().run_probes.show(run_id))


@bp.post("/probes")
@requires("owner")
@takes_query(ProbesQuery)
@bp.output(ProbesAnswer, status_code=201)
@bp.doc(tags=["Evolution"])
def add_probes(run_id: str, query: ProbesQuery) -> Response:
    """Add probes to a run: a JSON list, `{"probes": [...]}`, or JSON lines (`application/x-ndjson`).

    Each is `{"example_id"?, "input", "expected_output", "group"?}`. All are added, or none.
    """
    content = _content()
    desk = container().run_probes
    if request.is_json:
        return reply(desk.add(run_id, _rows(content), replace=query.replace), status=201)
    return reply(desk.add_lines(run_id, content, replace=query.replace), status=201)


@bp.delete("/probes/<path:example_id>")
@requires("owner")
@bp.output(ProbesAnswer)
@bp.doc(tags=["Evolution"])
def remove_probe(run_id: str, example_id: str) -> Response:
    """Take one added probe away; snapshots that asked it stay."""
    return reply(container().run_probes.remove(run_id, example_id))


@bp.get("/snapshots")
@requires("viewer")
@bp.output(BackfillAnswer)
@bp.doc(tags=["Evolution"])
def show(run_id: str) -> Response:
    """Show whether a run's checkpoints can be asked, and how far the newest job is."""
    return reply(container().backfill.status(run_id))


@bp.post("/snapshots")
@requires("owner")
@takes_body(BackfillRequest)
@bp.output(BackfillAnswer, status_code=202)
@bp.doc(tags=["Evolution"])
def launch(run_id: str, body: BackfillRequest) -> Response:
    """Ask kept checkpoints their probes, in a process of its own; one at a time of each run."""
    found = container().backfill.launch(run_id, checkpoint=str(body.checkpoint), probes=body.probes)
    return reply(found, status=202)


@bp.post("/snapshots/cancel")
@requires("owner")
@bp.output(BackfillAnswer, status_code=202)
@bp.doc(tags=["Evolution"])
def cancel(run_id: str) -> Response:
    """End the running job; what it has asked stays. Harmless when none runs."""
    return reply(container().backfill.cancel(run_id), status=202)


def _content() -> bytes:
    request.max_content_length = MAX_BODY_BYTES
    try:
        content = request.get_data(cache=False)
    except RequestEntityTooLarge as exc:
        raise TooLarge(f"probes may have {MAX_BODY_BYTES // 2**20} MiB at once") from exc
    if not content.strip():
        raise InvalidRequest("the body is missing", field="body", hint="send probes as JSON or as JSON lines")
    return content


def _rows(content: bytes) -> list[Any]:
    try:
        sent = orjson.loads(content)
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest(f"the body is not JSON: {exc}", field="body") from exc
    rows = sent.get("probes") if isinstance(sent, dict) else sent
    if not isinstance(rows, list):
        raise InvalidRequest(
            "the body holds no list of probes", field="probes", hint='send a list, or {"probes": [...]}'
        )
    return rows
