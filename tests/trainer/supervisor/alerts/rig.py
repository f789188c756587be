"""A lookout over synthetic series: what it is told, and what it says."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trainer.protocol.batches import Batch, Block
from trainer.protocol.events import EventType, Stream
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.alerts.advice import advice_of
from trainer.supervisor.alerts.lookout import Lookout
from trainer.supervisor.alerts.rule import Rule, Situation
from trainer.supervisor.alerts.series import Book
from trainer.supervisor.own_spool import OwnSpool
from trainer.supervisor.tally import Tally

Told = tuple[str, str]


class Clock:
    """Seconds, as a test wants them."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Watched:
    """A run folder with a lookout; a batch of points takes a second."""

    def __init__(
        self,
        folder: Path,
        *,
        total_steps: int | None = None,
        rules: Sequence[Rule] | None = None,
        recipe: str = "",
    ) -> None:
        logging.getLogger("trainer.supervisor.alerts.lookout").setLevel(logging.ERROR)
        self.paths = RunPaths(folder)
        self.spool = OwnSpool(self.paths)
        self.clock = Clock()
        self.tally = Tally(self.paths, run="run-1", attempt=1, step=0)
        self.tally.total_steps = total_steps
        self.told: list[dict[str, Any]] = []
        self._append = self.spool.append
        self.spool.append = self._hear  # type: ignore[method-assign]
        self.lookout = Lookout(
            self.paths,
            attempt=1,
            spool=self.spool,
            tally=self.tally,
            rules=rules,
            advice=advice_of(recipe),
            clock=self.clock,
        )

    def _hear(self, kind: EventType, *, attempt: int, **fields: Any) -> None:
        self.told.append(fields)
        self._append(kind, attempt=attempt, **fields)

    def report(self, steps: Sequence[int], **series: Sequence[float]) -> None:
        """One batch; names with ``/`` are given with ``__``, and ``@`` as ``_at_``."""
        named = {name.replace("__", "/").replace("_at_", "@"): values for name, values in series.items()}
        self.feed(steps, named)

    def feed(self, steps: Sequence[int], series: Mapping[str, Sequence[float]]) -> None:
        """One batch of points that share their steps."""
        columns = [array("d", values) for values in series.values()]
        block = Block(
            1, list(series), array("q", steps), array("d", [float(step) for step in steps]), columns
        )
        self.clock.now += 1.0
        self.tally._take(Batch("run-1", Stream.TRAINER, 1, len(steps), [block], []))

    def train(self, num: int, *, first: int = 1, at_once: int = 5, **shape: Callable[[int], float]) -> None:
        """``num`` steps of series that are functions of the step."""
        for begin in range(first, first + num, at_once):
            steps = range(begin, min(begin + at_once, first + num))
            self.report(steps, **{name: [value(step) for step in steps] for name, value in shape.items()})

    @property
    def said(self) -> list[Told]:
        """``(what, category)`` in order."""
        return [(event["what"], event["category"]) for event in self.told]


def looks(rule: Rule, *situations: Situation) -> list[bool]:
    """Whether the rule gives an alarm at each of the moments."""
    book = Book()
    return [rule.look(book, situation) is not None for situation in situations]
