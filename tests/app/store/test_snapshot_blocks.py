"""Blocks of answers give back what went in."""

from __future__ import annotations

import math
import zlib

import pytest

from app.store.snapshot_blocks import (
    BLOCK_BYTES,
    MOST_ROWS,
    blocks_of,
    dictionary_from,
    pack_block,
    rows_per_block,
    unpack_block,
)

LINES = [b'{"model_output":"line one"}', b"{}", "\u2028 ünï".encode(), b"x\ty", b'{"model_output":"last"}']
DICTIONARY = dictionary_from(b'{"model_output":"line', expected=b"last")


@pytest.mark.parametrize("block_rows", [1, 2, 4, 64])
def test_every_line_comes_back(block_rows: int) -> None:
    blocks = blocks_of(LINES, block_rows=block_rows)
    assert len(blocks) == math.ceil(len(LINES) / block_rows)
    packed = [pack_block(block, DICTIONARY) for block in blocks]
    assert [line for one in packed for line in unpack_block(one, DICTIONARY)] == LINES


def test_a_block_is_read_with_its_own_dictionary_only() -> None:
    (block,) = blocks_of(LINES, block_rows=8)
    with pytest.raises(zlib.error):
        unpack_block(pack_block(block, DICTIONARY), b"another")


def test_what_repeats_takes_next_to_nothing() -> None:
    lines = [
        "".join(chr(0x4E00 + (7 * number + row) % 9_999) for number in range(300)).encode()
        for row in range(8)
    ]
    (block,) = blocks_of(lines, block_rows=8)
    assert len(pack_block(block, dictionary_from(block, expected=b""))) < len(block) / 50


def test_long_lines_lie_alone_and_short_ones_together() -> None:
    assert rows_per_block([b"x" * 10 * BLOCK_BYTES]) == 1
    assert rows_per_block([b"{}"] * 1_000) == MOST_ROWS
    assert rows_per_block([b"x" * (BLOCK_BYTES // 5)] * 100) == 4
