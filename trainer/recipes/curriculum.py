"""How many near misses each epoch trains on, and how near: the curriculum of the original trainers.

``EPOCHS:WHAT`` stages, separated by semicolons, e.g. ``0-5:none;6-10:8@0.82-0.92;11-30:16@0.84-0.96``.
EPOCHS is one epoch (``4``), a range with both ends (``6-10``), or open (``11-``), counted from 0.
WHAT is ``none``, or a number of near misses per pair, which may be followed by
``@LOWEST-HIGHEST``: the cosine between the query and its near miss.
Epochs that no stage names train without near misses.

Loads no training library: the form and the preflight read it too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MOST: Final = 128  # near misses per pair
_EPOCHS: Final = re.compile(r"(\d{1,6})(?:\s*(-)\s*(\d{1,6})?)?")
_WHAT: Final = re.compile(r"(\d{1,6})(?:\s*@\s*(-?\d*\.?\d+)\s*-\s*(-?\d*\.?\d+))?")


class CurriculumError(ValueError):
    """A curriculum cannot be read; the message names the stage, its place in the text and what is allowed."""


@dataclass(frozen=True)
class Stage:
    """Some epochs that train alike.

    Attributes:
        first: the first epoch, counted from 0.
        last: the last epoch; None for no end.
        count: near misses per pair; 0 for none.
        lowest: least cosine between query and near miss, as the model sees them; ``highest`` likewise.
    """

    first: int
    last: int | None
    count: int
    lowest: float = -1.0
    highest: float = 1.0

    @property
    def has_window(self) -> bool:
        """Whether cosines are restricted at all."""
        return (self.lowest, self.highest) != (-1.0, 1.0)

    def holds(self, epoch: int) -> bool:
        """Whether ``epoch`` belongs to this stage."""
        return self.first <= epoch and (self.last is None or epoch <= self.last)


@dataclass(frozen=True)
class MiningPlan:
    """Stages in ascending order that do not overlap."""

    stages: tuple[Stage, ...]

    def at(self, epoch: int) -> Stage | None:
        """The stage of ``epoch`` that asks for near misses; None when there are none to be had."""
        return next((stage for stage in self.stages if stage.count and stage.holds(epoch)), None)

    @property
    def most(self) -> int:
        """The largest number of near misses per pair that any stage asks for."""
        return max((stage.count for stage in self.stages), default=0)

    @property
    def first_epoch(self) -> int | None:
        """The first epoch with near misses; None when there is none."""
        return min((stage.first for stage in self.stages if stage.count), default=None)

    @property
    def has_windows(self) -> bool:
        """Whether any stage restricts cosines."""
        return any(stage.count and stage.has_window for stage in self.stages)


def mining_plan(curriculum: str, *, mined_negatives: int, mine_from_epoch: int) -> MiningPlan:
    """The plan of a run: its curriculum, or without one ``mined_negatives`` from ``mine_from_epoch`` on.

    Raises:
        CurriculumError: the curriculum cannot be read.
    """
    if curriculum.strip():
        return parse(curriculum)
    return MiningPlan((Stage(mine_from_epoch, None, mined_negatives),) if mined_negatives else ())


def parse(curriculum: str) -> MiningPlan:
    """Read a curriculum.

    Raises:
        CurriculumError: names the stage and the characters of what is wrong.
    """
    stages: list[Stage] = []
    start = 0
    for number, text in enumerate(curriculum.split(";"), start=1):
        place = f"stage {number} (characters {start + 1}-{start + max(1, len(text))}), {text.strip()!r}"
        start += len(text) + 1
        if not text.strip():
            raise CurriculumError(f"{place}: is empty; write EPOCHS:WHAT, e.g. 6-10:8@0.82-0.92")
        stage = _stage(text, place)
        if stages and (stages[-1].last is None or stage.first <= stages[-1].last):
            before = "have no end" if stages[-1].last is None else f"end with epoch {stages[-1].last}"
            raise CurriculumError(
                f"{place}: begins with epoch {stage.first}, but those of stage {number - 1} {before}; "
                "stages must follow one another"
            )
        stages.append(stage)
    return MiningPlan(tuple(stages))


def _stage(text: str, place: str) -> Stage:
    epochs, colon, what = (part.strip() for part in text.partition(":"))
    if not colon:
        raise CurriculumError(f"{place}: has no colon; write EPOCHS:WHAT, e.g. 6-10:8@0.82-0.92")
    found = _EPOCHS.fullmatch(epochs)
    if found is None:
        raise CurriculumError(
            f"{place}: {epochs!r} are no epochs; write 4, 6-10, or 11- for all from 11 on, counted from 0"
        )
    first = int(found[1])
    last = first if found[2] is None else (None if found[3] is None else int(found[3]))
    if last is not None and last < first:
        raise CurriculumError(f"{place}: the last epoch {last} comes before the first {first}")
    if what == "none":
        return Stage(first, last, 0)
    return _counted(first, last, what, place)


def _counted(first: int, last: int | None, what: str, place: str) -> Stage:
    found = _WHAT.fullmatch(what)
    if found is None:
        raise CurriculumError(
            f"{place}: {what!r} is neither none nor a number of near misses with their cosines; "
            "write 8, or 8@0.82-0.92"
        )
    count = int(found[1])
    if not 1 <= count <= MOST:
        raise CurriculumError(f"{place}: {count} near misses per pair; allowed are 1 to {MOST}, or none")
    if found[2] is None:
        return Stage(first, last, count)
    lowest, highest = float(found[2]), float(found[3])
    if not -1.0 <= lowest < highest <= 1.0:
        raise CurriculumError(
            f"{place}: cosines {lowest:g} to {highest:g}; the lower must come first, both within -1 and 1"
        )
    return Stage(first, last, count, lowest, highest)
