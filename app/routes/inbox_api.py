"""``/api/inbox``: dropped datasets, the switch, and trying again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from apiflask import APIBlueprint
from flask import Response
from pydantic import Field

from app.container import container
from app.domain.inbox_states import InboxState
from app.errors import InvalidRequest
from app.routes.answers import Answer
from app.routes.inputs import Body, Query, takes_body, takes_query
from app.routes.replies import no_content, reply
from app.security.access import requires

bp = APIBlueprint("inbox_api", __name__, url_prefix="/api/inbox")
Word = Annotated[str, Field(min_length=1, max_length=64)]


class InboxQuery(Query):
    """Which items, newest first."""

    state: InboxState | None = None
    limit: int = Field(default=200, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)


class InboxChanges(Body):
    """The switch, and what files without a sidecar become."""

    on: bool | None = None
    recipe: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="Empty: the one that trains on what the file holds."
    )
    preset: Word | None = Field(default=None, description="null: the recipe's defaults.")


class ItemRunAnswer(Answer):
    """The run of a dropped file."""

    id: str
    name: str
    state: str


class InboxItemAnswer(Answer):
    """One dropped file; it is ``done`` only when its run has finished."""

    id: str
    name: str
    state: InboxState
    reason: str | None
    priority: Literal["high", "normal", "low"]
    folder: str = Field(description="Where the file lies now.")
    bytes: int
    sha256: str | None
    facts: dict[str, Any] | None
    recipe: str | None
    run: ItemRunAnswer | None
    can_retry: bool
    can_forget: bool
    created_at: float
    changed_at: float


class InboxAnswer(Answer):
    """The inbox and one page of its items, newest first."""

    on: bool
    decided_by: Literal["settings", "switch"]
    folder: str
    recipe: str = Field(description="Empty: the one that trains on what the file holds.")
    preset: str | None
    trouble: str | None = Field(description="Why nothing can be taken at the moment.")
    not_listed: int = Field(description="Entries of the folder beyond those that are noted at once.")
    counts: dict[str, int]
    items: list[InboxItemAnswer]


@bp.get("")
@requires("viewer")
@takes_query(InboxQuery)
@bp.output(InboxAnswer)
@bp.doc(tags=["Inbox"])
def show(query: InboxQuery) -> Response:
    """Show the switch, the folder, and what became of dropped files."""
    view = container().queue_parts.inbox_desk.view(state=query.state, limit=query.limit, offset=query.offset)
    return reply(view)


@bp.patch("")
@requires("owner")
@takes_body(InboxChanges)
@bp.output(InboxAnswer)
@bp.doc(tags=["Inbox"])
def change(body: InboxChanges) -> Response:
    """Use the switch, or choose recipe and preset of files without a sidecar."""
    changes = body.model_dump(exclude_unset=True)
    for name in ("on", "recipe"):
        if name in changes and changes[name] is None:
            raise InvalidRequest("must not be null", field=name, hint="Leave it out to keep it as it is.")
    return reply(container().queue_parts.inbox_desk.change(changes))


@bp.post("/<item_id>/retry")
@requires("owner")
@bp.output(InboxItemAnswer, status_code=202)
@bp.doc(tags=["Inbox"])
def retry(item_id: str) -> Response:
    """Check a file anew, train a duplicate all the same, or retry the run of a file."""
    return reply(container().queue_parts.inbox_desk.retry(item_id), status=202)


@bp.delete("/<item_id>")
@requires("owner")
@bp.output({}, status_code=204)
@bp.doc(tags=["Inbox"])
def forget(item_id: str) -> Response:
    """Take an item off the list; its file in quarantine moves to `instance/trash`."""
    container().queue_parts.inbox_desk.forget(item_id)
    return no_content()
