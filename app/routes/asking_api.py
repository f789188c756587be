"""``/api/runs/ID/ask``: what a run's model can be asked, and asking it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from apiflask import APIBlueprint
from flask import Response
from pydantic import Field

from app.container import container
from app.routes.answers import Answer
from app.routes.inputs import Body, takes_body
from app.routes.replies import reply
from app.security.access import requires

bp = APIBlueprint("asking_api", __name__, url_prefix="/api/runs/<run_id>")


class AskRequest(Body):
    """One question."""

    question: dict[str, Any] = Field(max_length=50, description="Its parts, as GET lists them.")
    checkpoint: Annotated[str, Field(min_length=1, max_length=20)] | None = Field(
        default=None, description="`best`, `last`, or a step as text. Default: the best, else the last."
    )


class QuestionPartAnswer(Answer):
    """One part of a question; the first one is what the box on the page takes."""

    name: str
    title: str
    help: str
    type: Literal["text", "line", "int", "float", "bool", "choice"]
    default: str | int | float | bool | None = Field(description="null: it must be given.")
    minimum: float | None
    maximum: float | None
    choices: list[str]
    most_characters: int


class AskableCheckpointAnswer(Answer):
    """A checkpoint that lies in the run's folder now."""

    step: int
    epoch: int
    best: bool
    last: bool


class DoingAnswer(Answer):
    """How far the process is."""

    detail: str
    fraction: float


class AskingAnswer(Answer):
    """What can be asked, and what the run's process is doing."""

    why_not: str | None = Field(description="Why this run cannot be asked, for a person; null when it can.")
    question: list[QuestionPartAnswer]
    checkpoints: list[AskableCheckpointAnswer] = Field(description="Oldest step first.")
    state: Literal["asleep", "busy", "ready"] = Field(
        description="asleep: the next question opens the model first, which takes a while."
    )
    doing: DoingAnswer | None
    checkpoint: AskableCheckpointAnswer | None = Field(description="Which one is open.")


class AskedAnswer(Answer):
    """An answer; its shape follows its ``kind``: ``ranking``, ``labels`` or ``completion``."""

    answer: dict[str, Any]
    checkpoint: AskableCheckpointAnswer
    open_s: float = Field(description="Seconds to open the model; next to nothing when it was open.")
    answer_s: float


@bp.get("/ask")
@requires("viewer")
@bp.output(AskingAnswer)
@bp.doc(tags=["Asking"])
def show(run_id: str) -> Response:
    """Show what a run's model can be asked, its checkpoints, and what it is doing."""
    return reply(container().asking.status(run_id))


@bp.post("/ask")
@requires("owner")
@takes_body(AskRequest)
@bp.output(AskedAnswer)
@bp.doc(tags=["Asking"])
def ask(run_id: str, body: AskRequest) -> Response:
    """Ask a run's model, in a process of its own that stays for five minutes.

    The first question opens the model, which takes seconds; `GET` tells meanwhile how far it is.
    """
    return reply(container().asking.ask(run_id, body.question, checkpoint=body.checkpoint))
