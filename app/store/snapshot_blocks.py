"""How the answers of a snapshot are packed: a few rows together, one zlib stream each.

A block has a line of JSON with the names of the columns, and one per probe:
``[[number or null, …], output]``.  It repeats the numbers of
``snapshot_columns``, which are for reading all probes at once: so one probe
costs one small block per snapshot, and nothing else.  How many rows a block
has depends on how long they are, so that each unpacks in microseconds.

Models repeat themselves: the same documents, the pieces of the same reference.
So a block is packed with a dictionary, the same block of the first snapshot
that was stored.  A stream says itself whether it needs one.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

BLOCK_BYTES: Final = 1_024  # of JSON, about
MOST_ROWS: Final = 64
_LEVEL: Final = 6
_DICTIONARY_BYTES: Final = 2**15  # zlib looks no further back


class Answered(NamedTuple):
    """One probe at one step: its numbers (None where not finite), and what its task calls the output."""

    numbers: dict[str, float | None]
    output: dict[str, Any]


def pack_rows(rows: Sequence[dict[str, Any]]) -> bytes:
    """zlib of a JSON list."""
    return zlib.compress(orjson.dumps(rows), _LEVEL)


def unpack_rows(packed: bytes) -> list[dict[str, Any]]:
    """The rows of ``pack_rows``."""
    rows: list[dict[str, Any]] = orjson.loads(zlib.decompress(packed))
    return rows


def rows_per_block(outputs: Sequence[dict[str, Any]]) -> int:
    """The largest power of two of rows that stays near ``BLOCK_BYTES``; at least 1."""
    mean_bytes = len(orjson.dumps(outputs)) / max(1, len(outputs))
    rows = 1
    while rows < MOST_ROWS and 2 * rows * mean_bytes <= BLOCK_BYTES:
        rows *= 2
    return rows


def blocks_of(
    columns: Mapping[str, Sequence[float]], outputs: Sequence[dict[str, Any]], *, block_rows: int
) -> list[bytes]:
    """The blocks of a snapshot in order, not packed yet; every column has one entry per output."""
    names = orjson.dumps(list(columns))
    numbers = list(zip(*columns.values(), strict=True)) if columns else [()] * len(outputs)
    lines = [orjson.dumps(pair) for pair in zip(numbers, outputs, strict=True)]
    return [
        b"\n".join([names, *lines[start : start + block_rows]]) for start in range(0, len(lines), block_rows)
    ]


def dictionary_from(block: bytes) -> bytes:
    """The dictionary for all blocks that hold the same rows as this one."""
    return block[-_DICTIONARY_BYTES:]


def pack_block(block: bytes, dictionary: bytes) -> bytes:
    """A zlib stream that can be read with this dictionary only."""
    packer = zlib.compressobj(_LEVEL, zdict=dictionary)
    return packer.compress(block) + packer.flush()


def unpack_block(packed: bytes, dictionary: bytes | None) -> list[Answered]:
    """All rows of a block; without a dictionary, of one that was packed without."""
    names, *rows = orjson.loads(b"[%b]" % _unpacked(packed, dictionary).replace(b"\n", b","))
    return [Answered(dict(zip(names, numbers, strict=True)), output) for numbers, output in rows]


def unpack_row(packed: bytes, dictionary: bytes | None, position: int) -> Answered:
    """One row of a block; the others are not parsed."""
    names, *lines = _unpacked(packed, dictionary).split(b"\n")
    numbers, output = orjson.loads(lines[position])
    return Answered(dict(zip(_column_names(names), numbers, strict=True)), output)


def _unpacked(packed: bytes, dictionary: bytes | None) -> bytes:
    unpacker = zlib.decompressobj() if dictionary is None else zlib.decompressobj(zdict=dictionary)
    return unpacker.decompress(packed)


@lru_cache(maxsize=256)
def _column_names(line: bytes) -> tuple[str, ...]:
    return tuple(orjson.loads(line))
