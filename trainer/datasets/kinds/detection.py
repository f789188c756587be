"""Which kinds a file can be, by its ending and the names of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trainer.datasets.kinds.declaration import DatasetKind, suggest
from trainer.datasets.kinds.registry import kinds


@dataclass(frozen=True)
class Candidate:
    """A kind a file may be of.

    Attributes:
        kind: which.
        columns: the suggested mapping, role -> column.
        missing: needed roles for which no column suggests itself; empty: it can be used as it is.
    """

    kind: DatasetKind
    columns: dict[str, str]
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.kind.name, "columns": self.columns, "missing": list(self.missing)}


def candidates(ending: str, names: Sequence[str]) -> list[Candidate]:
    """Kinds whose files may end in ``ending`` and have such columns, the best first.

    A kind that needs no further columns than there are stays possible, as columns can be mapped.
    """
    found = [_candidate(kind, ending, names) for kind in kinds().values() if ending in kind.endings]
    possible = [one for one in found if one is not None]
    return sorted(possible, key=lambda one: (len(one.missing), -_exact(one)))


def _candidate(kind: DatasetKind, ending: str, names: Sequence[str]) -> Candidate | None:
    if ending in kind.whole_text:
        return Candidate(kind, {}, ())
    if len(names) < min(len(need) for need in kind.needs):
        return None
    columns = suggest(kind, names)
    return Candidate(kind, columns, kind.missing(columns))


def _exact(candidate: Candidate) -> int:
    """How many columns have the very name of their role."""
    return sum(name.strip().lower() == role for role, name in candidate.columns.items())
