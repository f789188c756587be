"""Reads embeddings computed elsewhere from NPZ files; nothing in them is ever unpickled.

Which arrays hold the pairs is told by their names (see ``vector_layouts``), or by a mapping of roles.
Row i of the one side belongs to row i of the other.

Shape suffixes: N pairs, T vectors of a sequence, D length of a vector.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.npz_arrays import Npz, opened
from trainer.datasets.records import DatasetError, Tell, VectorPairs
from trainer.datasets.vector_layouts import Layout, layout_of

ENDINGS: Final = (".npz",)
_MIN_ROWS: Final = 2
_QUERY_DIMENSIONS, _DOCUMENT_DIMENSIONS, _KEY_DIMENSIONS = (2, 3), (2,), (1, 2)

Shape = tuple[int, ...]


def read(path: Path, tell: Tell, columns: Mapping[str, str] | None = None) -> VectorPairs:
    """Read all pairs of ``path``; ``columns`` maps roles to the arrays that play them.

    Without groups every pair is a group of its own; without ids a pair's id is its row, from 0.

    Raises:
        DatasetError: names file, array and row of what is wrong.
    """
    with opened(path) as npz:
        layout = layout_of(path, npz.names, columns)
        counts = _checked_counts(npz, layout)
        queries, documents = [], []
        for number, part in enumerate(layout.parts):
            tell(f"reading {path.name}", 0.1 + 0.8 * number / len(layout.parts))
            queries.append(npz.vectors(part.queries))
            documents.append(npz.vectors(part.documents))
        tell(f"reading {path.name}", 0.9)
        return _pairs(npz, layout, counts, (_joined(queries), _joined(documents)))


@dataclass(frozen=True)
class Head:
    """What the headers of an NPZ file say, and its first rows, checked as :func:`read` does.

    Attributes:
        query_shape: (N, T, D); T = 1 where the file has single vectors.
        document_shape: (N, D').
        labels: the arrays of text or integers there are, by their roles, one entry per pair.
        first: the first pairs; of a file with a split of its own, the first of both sides.
    """

    query_shape: Shape
    document_shape: Shape
    labels: dict[str, list[str]]
    first: VectorPairs


def read_head(path: Path, *, num_rows: int, columns: Mapping[str, str] | None = None) -> Head:
    """Read the headers, the labels and about the first ``num_rows`` rows of both sides of ``path``.

    Raises:
        DatasetError: names file, array and row of what is wrong in them.
    """
    with opened(path) as npz:
        layout = layout_of(path, npz.names, columns)
        counts = _checked_counts(npz, layout)
        total = sum(counts)
        taken = [min(count, max(1, round(num_rows * count / total))) for count in counts]
        pairs = list(zip(layout.parts, taken, strict=True))
        queries = _joined([npz.first_vectors(part.queries, count) for part, count in pairs])
        documents = _joined([npz.first_vectors(part.documents, count) for part, count in pairs])
        shape = npz.shape_of_vectors(layout.parts[0].queries, dimensions=_QUERY_DIMENSIONS)
        return Head(
            query_shape=(total, *(shape[1:] if len(shape) == 3 else (1, *shape[1:]))),
            document_shape=(total, documents.shape[1]),
            labels=_labels(npz, layout),
            first=_pairs(npz, layout, taken, (queries, documents)),
        )


def _joined(parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _checked_counts(npz: Npz, layout: Layout) -> list[int]:
    """Rows of each part, after a look at all headers, so that nothing huge or unsafe is read.

    Raises:
        DatasetError: an array is misshapen, of a wrong type, cut short, or does not fit the others.
    """
    counts, widths = [], {}
    for part in layout.parts:
        query = npz.shape_of_vectors(part.queries, dimensions=_QUERY_DIMENSIONS)
        document = npz.shape_of_vectors(part.documents, dimensions=_DOCUMENT_DIMENSIONS)
        _check_rows(npz, part.documents, document, part.queries, query)
        for name, width, first in (
            (part.queries, query[1:], layout.parts[0].queries),
            (part.documents, document[1:], layout.parts[0].documents),
        ):
            widths[name] = width
            if width != widths[first]:
                raise DatasetError(
                    f"{npz.path}, {name}: has rows of shape {width}, {first} of {widths[first]}"
                )
        counts.append(query[0])
    first_part = layout.parts[0].queries
    for name in layout.labels.values():
        if name in npz.names:
            _check_rows(npz, name, npz.shape_of_labels(name), first_part, (counts[0],))
    if layout.keys:
        shape = npz.shape_of_labels(layout.keys, dimensions=_KEY_DIMENSIONS, kinds="iu")
        _check_rows(npz, layout.keys, shape, first_part, (counts[0],))
        if shape[-1] == 0:
            raise DatasetError(f"{npz.path}, {layout.keys}: has shape {shape}, so it holds no key")
    if sum(counts) < _MIN_ROWS or 0 in counts:
        number = 0 if 0 in counts else sum(counts)
        where = f", {layout.parts[counts.index(0)].queries}" if 0 in counts and len(counts) > 1 else ""
        raise DatasetError(f"{npz.path}{where}: holds {number} pairs, at least {_MIN_ROWS} are needed")
    return counts


def _check_rows(npz: Npz, name: str, shape: Shape, other: str, other_shape: Shape) -> None:
    if shape[0] != other_shape[0]:
        raise DatasetError(f"{npz.path}, {name}: has {shape[0]:,} rows, {other} has {other_shape[0]:,}")


def _pairs(
    npz: Npz,
    layout: Layout,
    taken: list[int],
    sides: tuple[NDArray[np.float32], NDArray[np.float32]],
) -> VectorPairs:
    """The first ``taken`` rows of each part, with what is known of them."""
    queries = sides[0] if sides[0].ndim == 3 else sides[0][:, None, :]
    documents = sides[1]
    labels = {role: all_of_it[: taken[0]] for role, all_of_it in _labels(npz, layout).items()}
    numbers = [
        f"{part.prefix}{row}" for part, count in zip(layout.parts, taken, strict=True) for row in range(count)
    ]
    ids, groups = labels.get("ids", numbers), labels.get("groups")
    if layout.keys:
        ids, groups = _named_by_keys(npz.integers(layout.keys)[: taken[0]], numbers)
    _check_unique(npz, ids)
    groups = groups or ids
    held_out = _held_out(layout, taken)
    digest = hashlib.sha256(repr((queries.shape, documents.shape, ids, groups)).encode())
    if held_out is not None:
        digest.update(held_out.tobytes())
    digest.update(queries.data)
    digest.update(documents.data)
    return VectorPairs(
        name=npz.path.stem,
        ids=ids,
        query_vectors=queries,
        document_vectors=documents,
        queries_text=labels.get("query_texts", ids),
        titles=labels.get("document_titles", ids),
        groups=groups,
        content_hash=digest.hexdigest(),
        held_out=held_out,
    )


def _labels(npz: Npz, layout: Layout) -> dict[str, list[str]]:
    return {role: npz.labels(name) for role, name in layout.labels.items() if name in npz.names}


def _named_by_keys(keys: NDArray[np.int64], numbers: list[str]) -> tuple[list[str], list[str]]:
    """Ids and groups: the first key is the group; all of them are the id where they tell pairs apart."""
    table = keys.reshape(len(keys), -1)
    names = ["/".join(str(key) for key in row) for row in table.tolist()]
    groups = [str(key) for key in table[:, 0].tolist()]
    return (names if len(set(names)) == len(names) else numbers), groups


def _held_out(layout: Layout, taken: list[int]) -> NDArray[np.int64] | None:
    """Rows of the parts that the file keeps for evaluation; None where it does not say."""
    if not any(part.is_held_out for part in layout.parts):
        return None
    flags = [np.full(count, part.is_held_out) for part, count in zip(layout.parts, taken, strict=True)]
    return np.flatnonzero(np.concatenate(flags)).astype(np.int64)


def _check_unique(npz: Npz, ids: list[str]) -> None:
    first_row_of: dict[str, int] = {}
    for row, one in enumerate(ids):
        first = first_row_of.setdefault(one, row)
        if first != row:
            raise DatasetError(f"{npz.path}, ids, row {row}: {one!r} is already the id of row {first}")
