"""``/api/evolution``: what a model answered at each snapshot.

Addresses and shapes are those that clients of the original system know; fields
may be added, never renamed.
"""

from __future__ import annotations

from typing import Any, Final, cast
from urllib.parse import quote

from apiflask import APIBlueprint
from flask import Response, request

from app.container import container
from app.errors import InvalidRequest
from app.routes.evolution_answers import (
    ComparisonAnswer,
    DynamicsAnswer,
    EvolutionDatasetsAnswer,
    ExamplesAnswer,
    SnapshotAnswer,
    SnapshotListAnswer,
    TrajectoryAnswer,
)
from app.routes.evolution_requests import (
    CompareQuery,
    EvolutionQuery,
    ExamplesQuery,
    ListQuery,
    SnapshotQuery,
)
from app.routes.inputs import takes_query
from app.routes.replies import reply
from app.routes.tables import PARQUET, table
from app.security.access import requires
from app.services.evolution_comparison import rows_of
from app.services.evolution_html import comparison_page, page_name, snapshot_page

NAMED_STEPS: Final = frozenset({"latest", "first", "best"})
LARGEST_STEP: Final = 2**53
DEFAULT_LIMIT: Final = 100
_Answers = dict[int | str, dict[str, str | dict[str, dict[str, Any]]]]
_UNCHANGED: Final[_Answers] = {304: {"description": "The client's copy is current"}}


def _listing(answer: str, *, has_page: bool = False) -> _Answers:
    """What may be asked for as JSON or as a table, perhaps also as a page that stands alone."""
    content = {
        "application/json": {"schema": {"$ref": f"#/components/schemas/{answer}"}},
        "text/csv": {"schema": {"type": "string"}},
        PARQUET: {"schema": {"type": "string", "format": "binary"}},
    }
    if has_page:
        content["text/html"] = {"schema": {"type": "string"}}
    return {200: {"description": "As JSON, or in the format asked for", "content": content}, **_UNCHANGED}


_SNAPSHOT_ANSWERS: Final = _listing("SnapshotAnswer", has_page=True)
_SWAPPED_ANSWERS: Final[_Answers] = {
    **_SNAPSHOT_ANSWERS,
    308: {
        "description": "The right address is in `Location`",
        "content": {
            "application/json": {"schema": {"type": "object", "properties": {"location": {"type": "string"}}}}
        },
    },
}
_OF_A_DATASET_CALLED_SNAPSHOT: Final[_Answers] = {308: _SWAPPED_ANSWERS[308]}  # taken for a swapped address
bp = APIBlueprint("evolution_api", __name__, url_prefix="/api/evolution")


@bp.get("/datasets")
@requires("viewer")
@bp.output(EvolutionDatasetsAnswer)
@bp.doc(tags=["Evolution"])
def datasets() -> Response:
    """List the datasets that have snapshots, newest step first."""
    return reply({"datasets": container().evolution.datasets()})


@bp.get("/<dataset>/snapshots")
@requires("viewer")
@takes_query(EvolutionQuery)
@bp.output(SnapshotListAnswer)
@bp.doc(tags=["Evolution"])
def snapshots(dataset: str, query: EvolutionQuery) -> Response:
    """List the snapshots of a run on a dataset, by step."""
    evolution = container().evolution
    taken = evolution.snapshots(dataset, run=query.run)
    return _cacheable(reply({"snapshots": taken, "skipped": evolution.skipped(dataset, run=query.run)}))


@bp.get("/<dataset>/snapshot/<step>")
@requires("viewer")
@takes_query(SnapshotQuery)
@bp.output(SnapshotAnswer)
@bp.doc(tags=["Evolution"], responses=_SNAPSHOT_ANSWERS)
def snapshot(dataset: str, step: str, query: SnapshotQuery) -> Response:
    """Show what the model answered at one step: a number, `latest`, `first` or `best`."""
    return _snapshot(dataset, step, query)


@bp.get("/snapshot/<dataset>/<step>")
@requires("viewer")
@takes_query(SnapshotQuery)
@bp.output(SnapshotAnswer)
@bp.doc(tags=["Evolution"], responses=_SWAPPED_ANSWERS)
def swapped(dataset: str, step: str, query: SnapshotQuery) -> Response:
    """Redirect from the swapped address that old clients use."""
    if dataset == "snapshot":  # a dataset of that name: this is the right address already
        return _snapshot(dataset, step, query)
    if dataset == "examples" and container().evolution.has("snapshot"):  # this too: of an example of it
        return cast("Response", example(dataset="snapshot", example_id=step))
    target = f"/api/evolution/{quote(dataset, safe='')}/snapshot/{quote(step, safe='')}"
    suffix = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    return reply({"location": target + suffix}, status=308, headers={"Location": target + suffix})


@bp.get("/<dataset>/examples")
@requires("viewer")
@takes_query(ExamplesQuery)
@bp.output(ExamplesAnswer)
@bp.doc(tags=["Evolution"], responses=_listing("ExamplesAnswer"))
def examples(dataset: str, query: ExamplesQuery) -> Response:
    """List a dataset's fixed examples with what became of each: learned, struggling, forgotten …"""
    limit = DEFAULT_LIMIT if query.limit is None and query.format == "json" else query.limit
    found = container().evolution.examples(
        dataset,
        run=query.run,
        **_list_asked(query),
        limit=limit,
        offset=query.offset,
        is_short=query.texts == "short",
    )
    if query.format != "json":
        return _cacheable(table(found["examples"], name=f"{dataset}_examples", kind=query.format))
    return _cacheable(reply(found))


@bp.get("/<dataset>/dynamics")
@requires("viewer")
@takes_query(EvolutionQuery)
@bp.output(DynamicsAnswer)
@bp.doc(tags=["Evolution"], responses=_UNCHANGED)
def dynamics(dataset: str, query: EvolutionQuery) -> Response:
    """Show where all examples stand between learned and not, and what each snapshot changed."""
    return _cacheable(reply(container().evolution.dynamics(dataset, run=query.run)))


@bp.get("/<dataset>/examples/<any_text:example_id>")
@requires("viewer")
@takes_query(ListQuery)
@bp.output(TrajectoryAnswer)
@bp.doc(tags=["Evolution"], responses={**_UNCHANGED, **_OF_A_DATASET_CALLED_SNAPSHOT})
def example(dataset: str, example_id: str, query: ListQuery) -> Response:
    """Show one example's way through all snapshots, and its place in a list."""
    found = container().evolution.example(dataset, example_id, run=query.run, **_list_asked(query))
    return _cacheable(reply(found))


@bp.get("/<dataset>/compare")
@requires("viewer")
@takes_query(CompareQuery)
@bp.output(ComparisonAnswer)
@bp.doc(tags=["Evolution"], responses=_listing("ComparisonAnswer", has_page=True))
def compare(dataset: str, query: CompareQuery) -> Response:
    """Compare two snapshots: which examples were fixed, broken, are still right, still wrong."""
    found = container().evolution.compare(
        dataset,
        _step(query.start, field="from"),
        _step(query.stop, field="to"),
        run=query.run,
        run_to=query.run_to,
        sort=query.sort,
    )
    if query.format == "html":
        return _cacheable(_page(comparison_page(found), name=page_name(found)))
    if query.format != "json":
        name = f"{dataset}_from_{found['from']['step']}_to_{found['to']['step']}"
        return _cacheable(table(rows_of(found), name=name, kind=query.format))
    return _cacheable(reply(found))


def _snapshot(dataset: str, step: str, query: SnapshotQuery) -> Response:
    found = container().evolution.snapshot(
        dataset,
        _step(step, field="step"),
        run=query.run,
        finished=query.format == "json",
        limit=query.limit,
        offset=query.offset,
        sort=query.sort,
        filter=query.filter,
        q=query.q,
        rows=None if query.rows is None else [int(row) for row in query.rows.split(",")],
        is_short=query.texts == "short",
    )
    if query.format == "html":
        return _cacheable(_page(snapshot_page(found), name=page_name(found)))
    if query.format != "json":
        return _cacheable(table(found["examples"], name=str(found["snapshot_id"]), kind=query.format))
    return _cacheable(reply(found))


def _list_asked(query: ListQuery) -> dict[str, Any]:
    return {
        "category": query.category,
        "group": query.group,
        "q": query.q,
        "step": None if query.step is None else _step(query.step, field="step"),
        "filter": query.filter,
        "sort": query.sort,
    }


def _step(text: str, *, field: str) -> int | str:
    """A named step as it is, a number as a number; so large a number that no snapshot has it is cut."""
    if text in NAMED_STEPS:
        return text
    if not (text.isascii() and text.isdigit()):
        raise InvalidRequest(
            f"{text[:40]!r} is no step", field=field, hint="write a whole number, latest, first or best"
        )
    return LARGEST_STEP if len(text) > 16 else min(LARGEST_STEP, int(text))


def _cacheable(response: Response) -> Response:
    """With an ETag, so that asking again for what has not changed costs next to nothing."""
    response.add_etag()
    response.cache_control.no_cache = True
    response.make_conditional(request)
    return response


def _page(text: str, *, name: str) -> Response:
    """A page of its own, to be kept: this server's rules for pages forbid the styles it carries."""
    response = Response(text, mimetype="text/html")
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name)}"
    return response
