"""Ids of pinned examples become rows, or a message that says what helps."""

from __future__ import annotations

import pytest

from trainer.datasets.pinned import pinned_rows
from trainer.datasets.records import DatasetError

IDS = ["a", "b", "c", "d", "a"]


def rows_of(*wanted: str) -> list[int]:
    return pinned_rows(wanted, name="small", ids=IDS, held_out=[0, 2], trained=[1])


def test_ids_become_rows_in_the_order_asked_for() -> None:
    assert rows_of("c", "a", "c") == [2, 0]
    assert rows_of() == []


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("z", "small has no example 'z'; copy the id"),
        ("b", "'b' is trained on, and .* tells nothing about what it learned; pin one that is held out"),
        ("d", "'d' is neither trained on nor held out"),
    ],
)
def test_what_cannot_be_asked_is_named(wanted: str, says: str) -> None:
    with pytest.raises(DatasetError, match=says):
        rows_of("a", wanted)
