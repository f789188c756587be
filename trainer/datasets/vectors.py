"""Reads embeddings computed elsewhere from NPZ files; nothing in them is ever unpickled.

Arrays: ``query_vectors`` (N, T, D) or (N, D) and ``document_vectors`` (N, D'),
floats; optionally ``groups``, ``ids``, ``query_texts`` and
``document_titles``, each (N,) of text or integers.  Row i of the one side
belongs to row i of the other.

Shape suffixes: N pairs, T vectors of a sequence, D length of a vector.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.records import DatasetError, Tell, VectorPairs

ENDINGS: Final = (".npz",)
_REQUIRED: Final = {"query_vectors": (2, 3), "document_vectors": (2,)}
_OPTIONAL: Final = ("groups", "ids", "query_texts", "document_titles")
_CHUNK: Final = 4096
_MIN_ROWS: Final = 2
_UNREADABLE: Final = (
    *(ValueError, EOFError, NotImplementedError),
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
)


def read(path: Path, tell: Tell) -> VectorPairs:
    """Read all pairs of ``path``.

    Without ``groups`` every pair is a group of its own; without ``ids`` a
    pair's id is its row, from 0.

    Raises:
        DatasetError: names file, array and row of what is wrong.
    """
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            _check_headers(path, archive)
        with np.load(path, allow_pickle=False) as arrays:
            tell(f"reading {path.name}", 0.1)
            queries = _vectors(path, "query_vectors", arrays["query_vectors"])
            tell(f"reading {path.name}", 0.6)
            documents = _vectors(path, "document_vectors", arrays["document_vectors"])
            labels = {name: _labels(path, name, arrays[name]) for name in _OPTIONAL if name in arrays.files}
    except OSError as exc:
        raise unreadable(path, exc) from exc
    except _UNREADABLE as exc:
        if isinstance(exc, DatasetError):
            raise
        raise DatasetError(f"{path}: is not a readable NPZ file ({exc})") from exc
    tell(f"reading {path.name}", 0.9)
    return _pairs(path, queries if queries.ndim == 3 else queries[:, None, :], documents, labels)


@dataclass(frozen=True)
class Head:
    """What the headers of an NPZ file say, its labels, and its first rows, checked as :func:`read` does.

    Attributes:
        query_shape: (N, T, D); T = 1 where the file has single vectors.
        document_shape: (N, D').
        labels: the optional arrays there are, N texts each.
        first: the first pairs.
    """

    query_shape: tuple[int, ...]
    document_shape: tuple[int, ...]
    labels: dict[str, list[str]]
    first: VectorPairs


def read_head(path: Path, *, num_rows: int) -> Head:
    """Read the headers, the labels and the first ``num_rows`` rows of both sides of ``path``.

    Raises:
        DatasetError: names file, array and row of what is wrong in them.
    """
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            shapes = _check_headers(path, archive)
            queries = _first_rows(path, archive, "query_vectors", num_rows)
            documents = _first_rows(path, archive, "document_vectors", num_rows)
        with np.load(path, allow_pickle=False) as arrays:
            labels = {name: _labels(path, name, arrays[name]) for name in _OPTIONAL if name in arrays.files}
    except OSError as exc:
        raise unreadable(path, exc) from exc
    except _UNREADABLE as exc:
        if isinstance(exc, DatasetError):
            raise
        raise DatasetError(f"{path}: is not a readable NPZ file ({exc})") from exc
    shape = shapes["query_vectors"]
    return Head(
        query_shape=shape if len(shape) == 3 else (shape[0], 1, shape[1]),
        document_shape=shapes["document_vectors"],
        labels=labels,
        first=_pairs(
            path,
            queries if queries.ndim == 3 else queries[:, None, :],
            documents,
            {name: some[: len(documents)] for name, some in labels.items()},
        ),
    )


def _first_rows(path: Path, archive: zipfile.ZipFile, name: str, num_rows: int) -> NDArray[np.float32]:
    """The first rows of an array whose header is sound, without unpacking the rest."""
    member = name if name in archive.namelist() else f"{name}.npy"
    with archive.open(member) as file:
        shape, is_fortran, dtype = _read_header(file)
        if is_fortran:  # its rows lie apart: there is no head to read
            with np.load(path, allow_pickle=False) as arrays:
                return _vectors(path, name, arrays[name][:num_rows])
        wanted = (min(num_rows, shape[0]), *shape[1:])
        raw = file.read(int(np.prod(wanted)) * dtype.itemsize)
    return _vectors(path, name, np.frombuffer(raw, dtype=dtype).reshape(wanted))


def _pairs(
    path: Path, queries: NDArray[np.float32], documents: NDArray[np.float32], labels: dict[str, list[str]]
) -> VectorPairs:
    numbers = [str(row) for row in range(len(documents))]
    ids = labels.get("ids", numbers)
    first_row_of: dict[str, int] = {}
    for row, one in enumerate(ids):
        first = first_row_of.setdefault(one, row)
        if first != row:
            raise DatasetError(f"{path}, ids, row {row}: {one!r} is already the id of row {first}")
    groups = labels.get("groups", ids)
    digest = hashlib.sha256(repr((queries.shape, documents.shape, ids, groups)).encode())
    digest.update(queries.data)
    digest.update(documents.data)
    return VectorPairs(
        name=path.stem,
        ids=ids,
        query_vectors=queries,
        document_vectors=documents,
        queries_text=labels.get("query_texts", ids),
        titles=labels.get("document_titles", ids),
        groups=groups,
        content_hash=digest.hexdigest(),
    )


def _check_headers(path: Path, archive: zipfile.ZipFile) -> dict[str, tuple[int, ...]]:
    """Look at shapes and types before any array is read, so that nothing huge or unsafe is; the shapes.

    Raises:
        DatasetError: an array is missing, misshapen, of a wrong type, or cut short.
    """
    members = {name.removesuffix(".npy"): name for name in archive.namelist()}
    for name in _REQUIRED:
        if name not in members:
            raise DatasetError(
                f"{path}: array {name} is missing; needed are query_vectors and document_vectors, "
                f"the file has {', '.join(sorted(members)) or 'none'}"
            )
    shapes = {
        name: _check_header(path, archive, name, members[name])
        for name in (*_REQUIRED, *_OPTIONAL)
        if name in members
    }
    num_rows = shapes["query_vectors"][0]
    for name, shape in shapes.items():
        if shape[0] != num_rows:
            raise DatasetError(f"{path}, {name}: has {shape[0]:,} rows, query_vectors has {num_rows:,}")
    if num_rows < _MIN_ROWS:
        raise DatasetError(f"{path}: holds {num_rows} pairs, at least {_MIN_ROWS} are needed")
    return shapes


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type."""
    version = np.lib.format.read_magic(file)
    read_header = (
        np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    )
    return read_header(file)


def _check_header(path: Path, archive: zipfile.ZipFile, name: str, member: str) -> tuple[int, ...]:
    with archive.open(member) as file:
        shape, _, dtype = _read_header(file)
        header_bytes = file.tell()
    place = f"{path}, {name}"
    if dtype.hasobject:
        raise DatasetError(f"{place}: holds Python objects, which are never loaded; save plain arrays")
    dimensions = _REQUIRED.get(name, (1,))
    if len(shape) not in dimensions:
        wanted = " or ".join(str(number) for number in dimensions)
        raise DatasetError(f"{place}: must have {wanted} dimensions, has shape {shape}")
    if name in _REQUIRED and (dtype.kind != "f" or dtype.itemsize > 8):
        raise DatasetError(f"{place}: must be float16, float32 or float64, is {dtype}")
    if name in _OPTIONAL and dtype.kind not in "Uiu":
        raise DatasetError(f"{place}: must be text or integers, is {dtype}")
    if 0 in shape[1:]:
        raise DatasetError(f"{place}: has shape {shape}, so its vectors are empty")
    stored = archive.getinfo(member).file_size - header_bytes
    needed = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if stored != needed:
        raise DatasetError(f"{place}: holds {stored:,} bytes, its shape {shape} needs {needed:,}")
    return tuple(int(length) for length in shape)


def _vectors(path: Path, name: str, array: NDArray[Any]) -> NDArray[np.float32]:
    """``array`` as float32, every row finite and none all zeros."""
    with np.errstate(over="ignore"):  # what does not fit becomes infinite and is named below
        vectors = np.ascontiguousarray(array, dtype=np.float32)
    bad: list[int] = []
    for start in range(0, len(vectors), _CHUNK):
        flat = vectors[start : start + _CHUNK].reshape(len(vectors[start : start + _CHUNK]), -1)
        usable = np.isfinite(flat).all(axis=1) & (flat != 0).any(axis=1)
        bad.extend((np.flatnonzero(~usable) + start).tolist())
    if bad:
        row = bad[0]
        what = "is all zeros" if np.isfinite(vectors[row]).all() else "holds NaN or infinity"
        others = f" ({len(bad):,} rows are unusable in all)" if len(bad) > 1 else ""
        raise DatasetError(f"{path}, {name}, row {row}: {what}{others}")
    return vectors


def _labels(path: Path, name: str, array: NDArray[Any]) -> list[str]:
    labels = [str(label) for label in array.tolist()]
    for row, label in enumerate(labels):
        if not label.strip():
            raise DatasetError(f"{path}, {name}, row {row}: is empty")
    return labels
