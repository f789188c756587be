"""Shapes of what the queue's addresses take and answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.domain.priorities import PRIORITIES
from app.domain.run_states import RunState
from app.routes.answers import Answer
from app.routes.inputs import Body

PriorityWord = Literal["high", "normal", "low"]
RunId = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]


class QueueOrder(Body):
    """Run ids in the order in which they shall start."""

    runs: list[RunId] = Field(min_length=1, max_length=1000)


class QueueSkip(Body):
    """Which active run to stop; it may be left out where there is only one."""

    run: RunId | None = None


class QueuedRunAnswer(Answer):
    """A run, as far as the queue shows it."""

    id: str
    name: str
    recipe: str
    dataset: str
    state: RunState
    priority: int = Field(description=f"As stored; the words stand for {PRIORITIES}.")
    priority_name: PriorityWord
    queued_at: float


class ActiveAnswer(Answer):
    """A run that holds a slot; ``seconds_left`` and ``end_at`` are null where nobody can know them."""

    run: QueuedRunAnswer
    seconds_left: float | None
    end_at: float | None
    basis: str = Field(description="What the estimate rests on, or why there is none.")


class WaitingAnswer(Answer):
    """A run that waits; times are Unix seconds, null where nobody can know them."""

    position: int
    run: QueuedRunAnswer
    priority: PriorityWord
    start_at: float | None
    start_is_latest: bool = Field(description="A slot whose end is unknown may become free before.")
    end_at: float | None
    duration_s: float | None
    basis: str


class QueueAnswer(Answer):
    """What is active and what waits, in the order of the starts."""

    max_runs: int
    time: float
    active: list[ActiveAnswer]
    waiting: list[WaitingAnswer]


class SkipAnswer(Answer):
    """Which run is being stopped, and which starts then."""

    stopping: QueuedRunAnswer
    next: QueuedRunAnswer
