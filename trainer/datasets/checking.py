"""Whether a file is a dataset that can be trained on: read by the readers that training uses, and split.

Nothing is kept of it; what is told are counts and the hash of its bytes.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trainer.datasets import pairs, vectors
from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.kinds.declaration import DatasetKind
from trainer.datasets.kinds.registry import endings_of, kinds
from trainer.datasets.mistaken import other_kind
from trainer.datasets.records import DatasetError, Tell
from trainer.datasets.rows import read_any
from trainer.datasets.splitting import numbered, split_by_group
from trainer.datasets.tables import folded, shown

_BLOCK_BYTES: Final = 1024 * 1024
_SHOWN: Final = 12
_HELD_OUT: Final = 0.1  # any share will do: whether there are two groups to tell apart does not depend on it


@dataclass(frozen=True)
class CheckedDataset:
    """What a sound dataset holds; ``sha256`` is that of the file, byte for byte."""

    kind: str
    num_pairs: int
    num_groups: int
    num_bytes: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def check(path: Path, tell: Tell, *, kind_names: Sequence[str] = ()) -> CheckedDataset:
    """Read ``path`` as training would, by one of the kinds in ``kind_names``; empty for all there are.

    Raises:
        DatasetError: names file, line and column of what is wrong, or says that it cannot be split.
    """
    num_bytes = check_regular(path)
    kind = _kind_of(path, tell, kind_names or tuple(kinds()))
    try:
        counted = _counted(path, tell, kind)
    except DatasetError as exc:
        other = other_kind(path, tell, than=kind_names or (kind.name,))
        if other is None:
            raise
        raise DatasetError(f"{exc}. It has the columns of {other.title.lower()}") from exc
    return CheckedDataset(*counted, num_bytes, sha256_of(path))


def _counted(path: Path, tell: Tell, kind: DatasetKind) -> tuple[str, int, int]:
    if kind.name == "vectors":
        return _vectors(path, tell)
    return _texts(path, tell) if kind.name == "pairs" else _rows(path, tell, kind)


def _kind_of(path: Path, tell: Tell, names: Sequence[str]) -> DatasetKind:
    """The kind whose columns the file has; where none has all it needs, the first that is begun.

    Raises:
        DatasetError: the ending is of no kind, or no column of the file is of any.
    """
    ending = path.suffix.lower()
    possible = [kinds()[name] for name in names if ending in kinds()[name].endings]
    if not possible:
        raise DatasetError(f"{path}: has an unknown ending; known are {', '.join(endings_of(names))}")
    if len(possible) == 1 or possible[0].is_array:
        return possible[0]
    columns = _columns(path, tell)
    usual = [kind for kind in possible if not kind.missing({name: name for name in columns})]
    begun = [kind for kind in possible if any(name in columns for need in kind.needs for name in need)]
    if columns and not usual and not begun:
        wanted = "; ".join(
            f"{' or '.join(' and '.join(need) for need in kind.needs)} ({kind.name})" for kind in possible
        )
        raise DatasetError(
            f"{path}, line 1: its columns are {', '.join(shown(name) for name in columns[:_SHOWN])}, and "
            f"needed are {wanted}; rename them, or register it with --column"
        )
    return (usual or begun or possible)[0]


def _columns(path: Path, tell: Tell) -> list[str]:
    """The columns of the first row, or of a table's header where no row follows."""
    header: list[str] = []
    try:
        first = next(iter(read_any(path, tell, check_header=header.extend)), None)
    except OSError as exc:
        raise unreadable(path, exc) from exc
    return list(first[1]) if first is not None else [folded(name) for name in header]


def _vectors(path: Path, tell: Tell) -> tuple[str, int, int]:
    found = vectors.read(path, tell)
    queries = (vector.tobytes() for vector in found.query_vectors)
    documents = (vector.tobytes() for vector in found.document_vectors)
    _try_split(path, found.groups, queries, documents, held_out=found.held_out)
    return "vectors", len(found.groups), len(set(found.groups))


def _texts(path: Path, tell: Tell) -> tuple[str, int, int]:
    found = pairs.read(path, tell)
    _try_split(path, found.groups, map(_folded, found.queries), map(_folded, found.documents))
    return "pairs", len(found.groups), len(set(found.groups))


def _rows(path: Path, tell: Tell, kind: DatasetKind) -> tuple[str, int, int]:
    """Kinds whose recipes split as they like: the reader takes every row, and there are two groups."""
    rows = read_as(kind, path, tell)
    num_groups = len(set(rows.groups))
    if num_groups < 2:
        raise DatasetError(f"{path}: has a single group, so that nothing can be held out; add further rows")
    return kind.name, len(rows), num_groups


def read_as(kind: DatasetKind, path: Path, tell: Tell, columns: Mapping[str, str] | None = None) -> Any:
    """What the reader of ``kind`` makes of ``path``: it has a length and a ``content_hash``.

    Raises:
        DatasetError: names file, row and column of what is wrong.
    """
    module, _, function = kind.reader.partition(":")
    return getattr(importlib.import_module(module), function)(path, tell, columns=columns)


def _try_split(
    path: Path,
    groups: Sequence[str],
    queries: Iterable[Hashable],
    documents: Iterable[Hashable],
    *,
    held_out: NDArray[np.int64] | None = None,
) -> None:
    try:
        split_by_group(
            groups,
            queries_N=numbered(queries),
            documents_N=numbered(documents),
            held_out_fraction=_HELD_OUT,
            seed=0,
            held_out=held_out,
        )
    except DatasetError as exc:
        raise DatasetError(f"{path}: {exc}") from exc


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal.

    Raises:
        DatasetError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError as exc:
        raise unreadable(path, exc) from exc
    return digest.hexdigest()


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
