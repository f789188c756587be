"""What a rule is: the points it sees, the situation it looks at, the alarm it gives."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from trainer.supervisor.alerts.advice import Advice, no_advice
from trainer.supervisor.alerts.series import Book, Series


class Level(StrEnum):
    """How urgent it is: ``error`` means that the run is of no use as it is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Alarm:
    """What a rule has seen, in words: what, since which step, and what helps."""

    level: Level
    title: str
    text: str
    step: int


@dataclass(frozen=True)
class Memory:
    """Memory the run may still take; ``place`` is "this container" or "this machine"."""

    limit_bytes: int
    available_bytes: int
    place: str


@dataclass(frozen=True)
class Situation:
    """What is known beside the series, at one moment.

    Attributes:
        at: seconds on the monotonic clock.
        step: optimizer updates done.
        total_steps: where the training ends; None when it does not say.
        free_bytes: room on the run folder's disk; None when it cannot be asked.
        checkpoint_bytes: size of the largest checkpoint so far; 0 before the first.
        rss_bytes: resident memory of the run's processes; None without a sample.
        memory: how much there is; None when it cannot be asked.
        stall: the present hang verdict in words; empty while the trainer advances.
        advice: what else helps, by category, in the words of the run's recipe.
    """

    at: float = 0.0
    step: int = 0
    total_steps: int | None = None
    free_bytes: int | None = None
    checkpoint_bytes: int = 0
    rss_bytes: float | None = None
    memory: Memory | None = None
    stall: str = ""
    advice: Advice = no_advice

    def is_past(self, share: float) -> bool | None:
        """Whether ``share`` (0..1) of the training is done; None when its length is unknown."""
        return None if not self.total_steps else self.step >= share * self.total_steps


class Rule:
    """Base of all rules; a new attempt gets new ones.

    ``watches`` names series, a trailing ``*`` stands for any ending; a rule that
    watches nothing is looked at once a second.  ``relief`` says in words that it is over.
    """

    category: ClassVar[str]
    watches: ClassVar[tuple[str, ...]] = ()
    relief: ClassVar[str] = "It is over."

    def take(self, series: Series, steps: array[int], values: array[float]) -> None:
        """See new points of a watched series; ``series`` is as it was before them."""

    def look(self, book: Book, now: Situation) -> Alarm | None:
        """The alarm while what the rule is about lasts, else None; hysteresis is the rule's own."""
        raise NotImplementedError
