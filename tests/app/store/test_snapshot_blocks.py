"""Blocks of answers give back what went in, row by row and whole."""

from __future__ import annotations

import math
import zlib
from array import array
from typing import Any

import pytest

from app.store.snapshot_blocks import (
    BLOCK_BYTES,
    MOST_ROWS,
    blocks_of,
    dictionary_from,
    pack_block,
    rows_per_block,
    unpack_block,
    unpack_row,
)

OUTPUTS: list[dict[str, Any]] = [
    {"output": "line one\nline two", "tokens": [["\n", -0.5], ["]", None]]},
    {"top": [["d,1", 0.25]]},
    {},
    {"output": "\u2028 ünï \x1b[31m"},
    {"output": "last"},
]
COLUMNS = {
    "loss": array("d", [0.1, math.nan, math.inf, -1e300, 5e-324]),
    "correct": array("d", [0, 1, 0, 1, 1]),
}
DICTIONARY = dictionary_from(b'["loss"]\n[[0.5],{"output":"line one"}]')


@pytest.mark.parametrize("block_rows", [1, 2, 4, 64])
def test_every_row_comes_back_alone_and_with_its_block(block_rows: int) -> None:
    blocks = blocks_of(COLUMNS, OUTPUTS, block_rows=block_rows)
    assert len(blocks) == math.ceil(len(OUTPUTS) / block_rows)
    packed = [pack_block(block, DICTIONARY) for block in blocks]
    together = [row for one in packed for row in unpack_block(one, DICTIONARY)]
    alone = [
        unpack_row(packed[row // block_rows], DICTIONARY, row % block_rows) for row in range(len(OUTPUTS))
    ]
    assert together == alone
    assert [row.output for row in alone] == OUTPUTS
    assert [row.numbers["loss"] for row in alone] == [0.1, None, None, -1e300, 5e-324]


def test_a_snapshot_without_numbers_has_answers() -> None:
    (block,) = blocks_of({}, OUTPUTS, block_rows=8)
    packed = pack_block(block, DICTIONARY)
    assert [row.output for row in unpack_block(packed, DICTIONARY)] == OUTPUTS
    assert unpack_row(packed, DICTIONARY, 1).numbers == {}


def test_a_block_packed_without_a_dictionary_is_read_whether_there_is_one_by_now_or_not() -> None:
    (block,) = blocks_of(COLUMNS, OUTPUTS, block_rows=8)
    packed = zlib.compress(block)
    assert unpack_block(packed, None) == unpack_block(packed, DICTIONARY)
    with pytest.raises(zlib.error):
        unpack_block(pack_block(block, DICTIONARY), None)


def test_what_repeats_takes_next_to_nothing() -> None:
    outputs = [{"output": "".join(chr(0x4E00 + (7 * number + row) % 9_999) for number in range(300))}
               for row in range(8)]  # fmt: skip
    (block,) = blocks_of({}, outputs, block_rows=8)
    assert len(pack_block(block, dictionary_from(block))) < len(block) / 50


def test_long_rows_lie_alone_and_short_ones_together() -> None:
    assert rows_per_block([{"output": "x" * 10 * BLOCK_BYTES}]) == 1
    assert rows_per_block([{}] * 1_000) == MOST_ROWS
    medium = rows_per_block([{"output": "x" * (BLOCK_BYTES // 5)}] * 100)
    assert medium == 4
