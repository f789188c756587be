"""How the columns of a chunk become bytes and back.

- Steps and times are integers (times in microseconds): first value, smallest
  difference, and what each difference is above it in as few bytes as the
  largest needs.  An arithmetic progression needs none.
- Values are float64, exact to the bit (a NaN stays a NaN): one number when all
  are the same, float32 when that loses nothing, else float64.
- A sketch is the part of a chunk a zoomed-out chart draws: the smallest and the
  largest value of every ``SKETCH_BUCKET`` points, the first gap among them, and
  the ends, as plain records so that hundreds of sketches decode in one go.

All numbers are little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

CHUNK_POINTS: Final = 4096  # size of a merged chunk
CLOSED_POINTS: Final = CHUNK_POINTS // 2  # from here on a chunk carries a sketch and is not merged again
SKETCH_BUCKET: Final = 256

_RECORD: Final = np.dtype([("step", "<i8"), ("time", "<f8"), ("value", "<f8")])
_INTEGER_HEAD: Final = struct.Struct("<Bqq")  # bytes per difference, first value, smallest difference
_WIDTHS: Final = (0, 1, 2, 4, 8)
_SAME, _FLOAT32, _FLOAT64 = 0, 1, 2


@dataclass(frozen=True)
class Columns:
    """Aligned points of one series: steps, times (Unix seconds) and values, all of shape (n,)."""

    steps: Integers
    times: Floats
    values: Floats

    def __len__(self) -> int:
        return len(self.steps)

    def take(self, rows: Any) -> Columns:
        """The points at ``rows`` (indices, mask or slice), in that order."""
        return Columns(self.steps[rows], self.times[rows], self.values[rows])


def join(pieces: list[Columns]) -> Columns:
    """All points of ``pieces`` one after the other."""
    if not pieces:
        return Columns(np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.float64))
    if len(pieces) == 1:
        return pieces[0]
    return Columns(
        np.concatenate([piece.steps for piece in pieces]),
        np.concatenate([piece.times for piece in pieces]),
        np.concatenate([piece.values for piece in pieces]),
    )


def encode(columns: Columns) -> dict[str, bytes | None]:
    """The blobs ``steps``, ``times``, ``values`` and ``sketch`` (None for a small chunk) of one chunk.

    Times are kept to the microsecond.  Steps and microseconds must lie within +-2**61.
    """
    return {
        "steps": _encode_integers(columns.steps),
        "times": _encode_integers(np.rint(columns.times * 1e6).astype(np.int64)),
        "values": _encode_values(columns.values),
        "sketch": _sketch(columns) if len(columns) >= CLOSED_POINTS else None,
    }


def decode(count: int, steps: bytes, times: bytes, values: bytes) -> Columns:
    """Inverse of :func:`encode` for a chunk of ``count`` points.

    Raises:
        ValueError: a blob has another length than ``count`` points need.
    """
    return Columns(
        _decode_integers(steps, count), _decode_integers(times, count) / 1e6, _decode_values(values, count)
    )


def decode_sketches(sketches: list[bytes]) -> Columns:
    """The points of consecutive sketches, in order."""
    records = np.frombuffer(b"".join(sketches), _RECORD)
    return Columns(*(np.ascontiguousarray(records[name]) for name in ("step", "time", "value")))


def _encode_integers(column: Integers) -> bytes:
    differences = np.diff(column)
    if len(differences) == 0:
        return _INTEGER_HEAD.pack(0, int(column[0]), 0)
    base = int(differences.min())
    spread = int(differences.max()) - base
    width = next(width for width in _WIDTHS if spread < 1 << (8 * width))
    head = _INTEGER_HEAD.pack(width, int(column[0]), base)
    if width == 0:
        return head
    return head + bytes((differences - base).astype(f"<u{width}").tobytes())


def _decode_integers(blob: bytes, count: int) -> Integers:
    width, first, base = _INTEGER_HEAD.unpack_from(blob)
    if len(blob) - _INTEGER_HEAD.size != width * (count - 1):
        raise ValueError(f"a column of {len(blob)} bytes does not hold {count} integers")
    column = np.empty(count, np.int64)
    column[0] = first
    column[1:] = base
    if width:
        column[1:] += np.frombuffer(blob, f"<u{width}", offset=_INTEGER_HEAD.size).astype(np.int64)
    np.cumsum(column, out=column)
    return column


def _encode_values(column: Floats) -> bytes:
    column = np.ascontiguousarray(column, "<f8")
    bits = column.view(np.int64)  # bits, so that -0.0 and 0.0 differ and a NaN equals itself
    if bool((bits == bits[0]).all()):
        return bytes([_SAME]) + column[:1].tobytes()
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        narrow = column.astype("<f4")
        exact = bool((narrow.astype(np.float64).view(np.int64) == bits).all())
    return bytes([_FLOAT32]) + narrow.tobytes() if exact else bytes([_FLOAT64]) + column.tobytes()


def _decode_values(blob: bytes, count: int) -> Floats:
    kind = blob[0]
    stored = np.frombuffer(blob, "<f4" if kind == _FLOAT32 else "<f8", offset=1)
    if len(stored) != (1 if kind == _SAME else count):
        raise ValueError(f"a column of {len(blob)} bytes does not hold {count} values")
    return np.full(count, stored[0]) if kind == _SAME else stored.astype(np.float64)


def _sketch(columns: Columns) -> bytes:
    count = len(columns)
    num_buckets = -(-count // SKETCH_BUCKET)
    values = np.full(num_buckets * SKETCH_BUCKET, np.nan)
    values[:count] = columns.values
    finite = np.isfinite(values)
    offsets = np.arange(num_buckets) * SKETCH_BUCKET

    def best(masked: Floats) -> Integers:
        return np.asarray(masked.reshape(num_buckets, SKETCH_BUCKET).argmin(axis=1) + offsets)

    lowest = best(np.where(finite, values, np.inf))
    highest = best(np.where(finite, -values, np.inf))
    first_gap = best(np.where(finite, 1.0, 0.0))
    rows = np.unique(np.concatenate([[0, count - 1], lowest, highest, first_gap]))
    rows = rows[rows < count]
    records = np.empty(len(rows), _RECORD)
    records["step"], records["time"], records["value"] = (
        columns.steps[rows], np.rint(columns.times[rows] * 1e6) / 1e6, columns.values[rows],
    )  # fmt: skip
    return records.tobytes()
