"""Single arrays of NPZ files, looked at before they are read; nothing in them is ever unpickled."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.records import DatasetError

_CHUNK: Final = 4096
_UNREADABLE: Final = (
    *(ValueError, EOFError, NotImplementedError),
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
)


class Npz:
    """An open NPZ file."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, arrays: Any) -> None:
        self.path = path
        self._archive = archive
        self._arrays = arrays
        self._members = {name.removesuffix(".npy"): name for name in archive.namelist()}

    @property
    def names(self) -> list[str]:
        """The arrays there are."""
        return list(self._members)

    def shape_of_vectors(self, name: str, *, dimensions: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of an array of floats, after a look at its header.

        Raises:
            DatasetError: it is misshapen, of a wrong type, or cut short.
        """
        shape, dtype = self._checked(name, dimensions)
        place = f"{self.path}, {name}"
        if dtype.kind != "f" or dtype.itemsize > 8:
            raise DatasetError(f"{place}: must be float16, float32 or float64, is {dtype}")
        if 0 in shape[1:]:
            raise DatasetError(f"{place}: has shape {shape}, so its vectors are empty")
        return shape

    def shape_of_labels(
        self, name: str, *, dimensions: tuple[int, ...] = (1,), kinds: str = "Uiu"
    ) -> tuple[int, ...]:
        """The shape of an array of text or integers, after a look at its header.

        Raises:
            DatasetError: it is misshapen, of a wrong type, or cut short.
        """
        shape, dtype = self._checked(name, dimensions)
        if dtype.kind not in kinds:
            wanted = "text or integers" if "U" in kinds else "integers"
            raise DatasetError(f"{self.path}, {name}: must be {wanted}, is {dtype}")
        return shape

    def vectors(self, name: str) -> NDArray[np.float32]:
        """All rows as float32, every one finite and none all zeros.

        Raises:
            DatasetError: names the first row that is not.
        """
        return _vectors(self.path, name, self._arrays[name])

    def first_vectors(self, name: str, num_rows: int) -> NDArray[np.float32]:
        """The first rows of an array whose header is sound, without unpacking the rest."""
        with self._archive.open(self._members[name]) as file:
            shape, is_fortran, dtype = read_header(file)
            if is_fortran:  # its rows lie apart: there is no head to read
                return _vectors(self.path, name, self._arrays[name][:num_rows])
            wanted = (min(num_rows, shape[0]), *shape[1:])
            raw = file.read(int(np.prod(wanted)) * dtype.itemsize)
        return _vectors(self.path, name, np.frombuffer(raw, dtype=dtype).reshape(wanted))

    def labels(self, name: str) -> list[str]:
        """One text per row.

        Raises:
            DatasetError: names the first row that is empty.
        """
        labels = [str(label) for label in self._arrays[name].tolist()]
        for row, label in enumerate(labels):
            if not label.strip():
                raise DatasetError(f"{self.path}, {name}, row {row}: is empty")
        return labels

    def integers(self, name: str) -> NDArray[np.int64]:
        """All rows of an array whose header is sound."""
        return np.asarray(self._arrays[name]).astype(np.int64)

    def _checked(self, name: str, dimensions: tuple[int, ...]) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Look at shape and type before the array is read, so that nothing huge or unsafe is."""
        member, place = self._members[name], f"{self.path}, {name}"
        with self._archive.open(member) as file:
            shape, _, dtype = read_header(file)
            header_bytes = file.tell()
        if dtype.hasobject:
            raise DatasetError(f"{place}: holds Python objects, which are never loaded; save plain arrays")
        if len(shape) not in dimensions:
            wanted = " or ".join(str(number) for number in dimensions)
            raise DatasetError(f"{place}: must have {wanted} dimensions, has shape {shape}")
        stored = self._archive.getinfo(member).file_size - header_bytes
        needed = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if stored != needed:
            raise DatasetError(f"{place}: holds {stored:,} bytes, its shape {shape} needs {needed:,}")
        return tuple(int(length) for length in shape), dtype


@contextmanager
def opened(path: Path) -> Iterator[Npz]:
    """Open ``path``; whatever is wrong with it while it is open is told as a :class:`DatasetError`.

    Raises:
        DatasetError: it is missing, no NPZ file, cut short, or holds Python objects.
    """
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive, np.load(path, allow_pickle=False) as arrays:
            yield Npz(path, archive, arrays)
    except OSError as exc:
        raise unreadable(path, exc) from exc
    except _UNREADABLE as exc:
        if isinstance(exc, DatasetError):
            raise
        raise DatasetError(f"{path}: is not a readable NPZ file ({exc})") from exc


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type."""
    version = np.lib.format.read_magic(file)
    read_header = (
        np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    )
    return read_header(file)


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
