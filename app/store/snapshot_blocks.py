"""How the answers of a snapshot are packed: a few lines together, one zlib stream each.

A block holds lines of ``app.domain.answer_lines``, one per probe.  How many
depends on how long they are, so that each block unpacks in microseconds: one
probe costs one small block per snapshot, and nothing else.

Models repeat themselves: the same documents, the pieces of the same reference.
So a block is packed with a dictionary: what its probes expect, which is what
models come to answer, and the same block of the first snapshot that was stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

import orjson

BLOCK_BYTES: Final = 1_024  # of JSON, about
MOST_ROWS: Final = 64
_LEVEL: Final = 6
_DICTIONARY_BYTES: Final = 2**15  # zlib looks no further back


def pack_rows(rows: Sequence[dict[str, Any]]) -> bytes:
    """zlib of a JSON list."""
    return zlib.compress(orjson.dumps(rows), _LEVEL)


def unpack_rows(packed: bytes) -> list[dict[str, Any]]:
    """The rows of ``pack_rows``."""
    rows: list[dict[str, Any]] = orjson.loads(zlib.decompress(packed))
    return rows


def rows_per_block(lines: Sequence[bytes]) -> int:
    """The largest power of two of lines that stays near ``BLOCK_BYTES``; at least 1."""
    mean_bytes = sum(map(len, lines)) / max(1, len(lines))
    rows = 1
    while rows < MOST_ROWS and 2 * rows * mean_bytes <= BLOCK_BYTES:
        rows *= 2
    return rows


def blocks_of(lines: Sequence[bytes], *, block_rows: int) -> list[bytes]:
    """The blocks of a snapshot in order, not packed yet."""
    return [b"\n".join(lines[start : start + block_rows]) for start in range(0, len(lines), block_rows)]


def dictionary_from(block: bytes, *, expected: bytes) -> bytes:
    """The dictionary for all blocks of the same rows as this one, of which this much is ``expected``."""
    return (expected + b"\n" + block)[-_DICTIONARY_BYTES:]


def pack_block(block: bytes, dictionary: bytes) -> bytes:
    """A zlib stream that can be read with this dictionary only."""
    packer = zlib.compressobj(_LEVEL, zdict=dictionary)
    return packer.compress(block) + packer.flush()


def unpack_block(packed: bytes, dictionary: bytes) -> list[bytes]:
    """All lines of a block."""
    return zlib.decompressobj(zdict=dictionary).decompress(packed).split(b"\n")
