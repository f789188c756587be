"""Reads files that come with a dataset and name near misses found elsewhere.

Near misses: JSONL, one query a line, in the words of either original miner:
``q_index`` or ``query_idx``, ``near_miss_indices`` or ``negative_indices``,
and optionally ``gold_idx``.  P-cache: one ``.npy`` matrix of floats whose rows
are documents; nothing in it is ever unpickled.

All numbers count rows from 0.  Shape suffixes: N rows, D length of a vector.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.records import DatasetError, Tell
from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import beside

MAX_LINE_BYTES: Final = 1_000_000
_QUERY: Final = ("q_index", "query_idx")
_MISSES: Final = ("near_miss_indices", "negative_indices")
_GOLD: Final = "gold_idx"
_TELL_EVERY: Final = 5000

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class NearMissLine:
    """The near misses of one query.

    ``gold`` is the row of its answer as whoever mined them saw it; None where the file does not say.
    """

    line: int
    query: int
    misses: tuple[int, ...]
    gold: int | None


@dataclass(frozen=True)
class NearMissFile:
    """All lines of a file, one per query; ``sha256`` is that of its bytes."""

    path: Path
    lines: list[NearMissLine]
    sha256: str


def file_beside(dataset: str, name: str, *, datasets_dir: Path) -> Path:
    """The file called ``name`` in the folder of ``dataset``, of a built-in one in ``datasets_dir``.

    Raises:
        DatasetError: it lies, links followed, in another folder, or is no file that can be read.
    """
    try:
        path = beside(dataset, name, datasets_dir=datasets_dir)
    except ProtocolError as exc:
        raise DatasetError(str(exc)) from exc
    check_regular(path)
    return path


def read(path: Path, *, num_queries: int, num_documents: int, tell: Tell) -> NearMissFile:
    """Read a near-miss file.

    Args:
        path: the file.
        num_queries: rows that a query may have.
        num_documents: rows that a near miss may have.
        tell: called now and then.

    Raises:
        DatasetError: names file, line and key of what is wrong.
    """
    size, done = check_regular(path), 0
    digest = hashlib.sha256()
    found: list[NearMissLine] = []
    line_of: dict[int, int] = {}
    for number, raw in _lines(path):
        digest.update(raw)
        done += len(raw)
        if number % _TELL_EVERY == 0:
            tell(f"reading {path.name}", min(1.0, done / size))
        if not raw.strip():
            continue
        one = _checked(f"{path}, line {number}", number, raw, num_queries, num_documents)
        first = line_of.setdefault(one.query, number)
        if first != number:
            raise DatasetError(f"{path}, line {number}: query {one.query} is already that of line {first}")
        found.append(one)
    if not found:
        raise DatasetError(f"{path}: names no near miss")
    return NearMissFile(path, found, digest.hexdigest())


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            number = 0
            while raw := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    raise DatasetError(f"{path}, line {number}: is longer than {MAX_LINE_BYTES:,} bytes")
                yield number, raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
    except OSError as exc:
        raise unreadable(path, exc) from exc


def _checked(place: str, line: int, raw: bytes, num_queries: int, num_documents: int) -> NearMissLine:
    try:
        cells = json.loads(raw)
    except (ValueError, RecursionError) as exc:
        raise DatasetError(f"{place}: is not JSON ({exc})") from exc
    if not isinstance(cells, dict):
        raise DatasetError(f'{place}: must be an object like {{"q_index": 0, "near_miss_indices": [7, 12]}}')
    query_key, misses_key = _key(place, cells, _QUERY), _key(place, cells, _MISSES)
    query = _row(f"{place}, {query_key}", cells[query_key], num_queries)
    misses = cells[misses_key]
    if not isinstance(misses, list):
        raise DatasetError(f"{place}, {misses_key}: must be a list of row numbers")
    rows = tuple(_row(f"{place}, {misses_key}", one, num_documents) for one in misses)
    gold = cells.get(_GOLD)
    return NearMissLine(
        line, query, rows, None if gold is None else _row(f"{place}, {_GOLD}", gold, num_documents)
    )


def _key(place: str, cells: dict[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        if name in cells:
            return name
    raise DatasetError(f"{place}: {' or '.join(names)} is missing; it has {', '.join(cells) or 'nothing'}")


def _row(place: str, value: object, num_rows: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DatasetError(f"{place}: must be a row number, got {str(value)[:40]!r}")
    if not 0 <= value < num_rows:
        raise DatasetError(
            f"{place}: row {value:,} does not exist; there are {num_rows:,}, counted from 0"
            " (is the file of another dataset?)"
        )
    return value


class PCache:
    """A matrix of document vectors on disk, of which some rows are read."""

    def __init__(self, path: Path) -> None:
        """Look at the header; the rows stay on disk.

        Raises:
            DatasetError: it is no matrix of floats, or cut short.
        """
        check_regular(path)
        self.path = path
        try:
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        except OSError as exc:
            raise unreadable(path, exc) from exc
        except (ValueError, EOFError) as exc:
            raise DatasetError(
                f"{path}: is not a readable .npy file of plain numbers ({exc}); save it with numpy.save"
            ) from exc
        if not isinstance(mapped, np.ndarray) or mapped.ndim != 2 or mapped.dtype.kind != "f":
            shape, kind = getattr(mapped, "shape", "?"), getattr(mapped, "dtype", "?")
            raise DatasetError(f"{path}: must be a matrix [N, D] of floats, is {kind} {shape}")
        if len(mapped) == 0 or mapped.shape[1] == 0:
            raise DatasetError(f"{path}: has shape {mapped.shape}, so there is nothing in it")
        self._mapped = mapped

    def __len__(self) -> int:
        return len(self._mapped)

    @property
    def dim(self) -> int:
        """Length of its vectors."""
        return int(self._mapped.shape[1])

    def rows(self, rows_N: Ints) -> Floats:
        """The vectors of ``rows_N``, float32, shape (N, D).

        Raises:
            DatasetError: names the first row that holds NaN or infinity, or is all zeros.
        """
        with np.errstate(over="ignore"):  # what does not fit becomes infinite and is named below
            vectors = np.ascontiguousarray(self._mapped[rows_N], dtype=np.float32)
        unusable = np.flatnonzero(~(np.isfinite(vectors).all(axis=1) & (vectors != 0).any(axis=1)))
        if len(unusable):
            place = int(unusable[0])
            what = "is all zeros" if np.isfinite(vectors[place]).all() else "holds NaN or infinity"
            raise DatasetError(f"{self.path}, row {int(rows_N[place])}: {what}")
        return vectors
