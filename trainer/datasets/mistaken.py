"""What a file holds when it does not hold what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainer.datasets.kinds.declaration import DatasetKind
from trainer.datasets.kinds.registry import kinds
from trainer.datasets.records import DatasetError, Tell
from trainer.datasets.rows import read_any


def other_kind(path: Path, tell: Tell, *, than: Sequence[str]) -> DatasetKind | None:
    """The kind whose columns the first row of ``path`` has by name, while none of the kinds ``than`` has."""
    ending = path.suffix.lower()
    possible = [kind for kind in kinds().values() if ending in kind.endings and not kind.is_array]
    if not possible:
        return None
    columns = columns_of(path, tell)
    fitting = [kind for kind in possible if columns and not kind.missing(columns)]
    if any(kind.name in than for kind in fitting):
        return None
    return next(iter(fitting), None)


def columns_of(path: Path, tell: Tell) -> dict[str, str]:
    """The columns of the first row, each mapped to itself; none where it cannot be read."""
    try:
        first = next(iter(read_any(path, tell)), None)
    except (DatasetError, OSError):
        return {}
    return {} if first is None else {name: name for name in first[1]}
