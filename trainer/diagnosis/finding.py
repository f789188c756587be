"""What is known about a death: a signature describes a family of deaths, a finding one that happened."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from trainer.protocol.rungs import Rung

UNKNOWN: Final = "unknown"


class Role(StrEnum):
    """How much a matching text explains."""

    CAUSE = "cause"  # ends a run
    HANG = "hang"  # keeps it alive and still
    WARNING = "warning"  # never explains a healthy exit, and never outranks a cause
    SYMPTOM = "symptom"  # printed because of another death


@dataclass(frozen=True)
class Signature:
    """A family of deaths and the text that gives it away.

    ``pattern`` is searched (``re.MULTILINE``) in a log without colours.  ``rank`` orders causes that are all
    there: 8 is a root by itself, 5 is usual, 2 usually follows from another cause.  ``silent``
    families explain an exit with code 0.  ``anywhere`` families count although the log goes on: another
    process wrote them, or they have a rule of their own for what came after.  ``vague`` words fit the family
    as long as nothing more precise is there: they rank behind every other cause.
    ``in_stacks`` patterns are tried on the frames of a stack dump instead of the log.
    """

    id: str
    pattern: str
    cause: str
    remedy: str
    source: str
    role: Role = Role.CAUSE
    rank: int = 5
    rungs: tuple[Rung, ...] = ()
    silent: bool = False
    anywhere: bool = False
    vague: str = ""
    in_stacks: bool = False


@dataclass(frozen=True)
class Finding:
    """Why a run died, for people.

    ``confidence`` lies within 0..1; ``lines`` are the log's own words, shortened; ``source`` names where
    the knowledge comes from, an address where there is one; ``rungs`` are safe to try, least invasive first.
    """

    id: str
    cause: str
    remedy: str
    confidence: float
    lines: tuple[str, ...] = ()
    source: str = ""
    rungs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The finding as commands, events and addresses show it."""
        return {**asdict(self), "lines": list(self.lines), "rungs": list(self.rungs)}
