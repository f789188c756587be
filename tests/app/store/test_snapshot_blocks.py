"""Blocks of answers give back what went in, row by row and whole."""

from __future__ import annotations

import math
from array import array
from typing import Any

import pytest

from app.store.snapshot_blocks import (
    BLOCK_BYTES,
    MOST_ROWS,
    pack_blocks,
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


@pytest.mark.parametrize("block_rows", [1, 2, 4, 64])
def test_every_row_comes_back_alone_and_with_its_block(block_rows: int) -> None:
    blocks = pack_blocks(COLUMNS, OUTPUTS, block_rows=block_rows)
    assert len(blocks) == math.ceil(len(OUTPUTS) / block_rows)
    together = [row for block in blocks for row in unpack_block(block)]
    alone = [unpack_row(blocks[row // block_rows], row % block_rows) for row in range(len(OUTPUTS))]
    assert together == alone
    assert [row.output for row in alone] == OUTPUTS
    assert [row.numbers["loss"] for row in alone] == [0.1, None, None, -1e300, 5e-324]


def test_a_snapshot_without_numbers_has_answers() -> None:
    (block,) = pack_blocks({}, OUTPUTS, block_rows=8)
    assert [row.output for row in unpack_block(block)] == OUTPUTS
    assert unpack_row(block, 1).numbers == {}


def test_long_rows_lie_alone_and_short_ones_together() -> None:
    assert rows_per_block([{"output": "x" * 10 * BLOCK_BYTES}]) == 1
    assert rows_per_block([{}] * 1_000) == MOST_ROWS
    medium = rows_per_block([{"output": "x" * (BLOCK_BYTES // 5)}] * 100)
    assert medium == 4
