"""Starts and ends of waiting runs, worked by hand, and honest where nobody can know."""

from __future__ import annotations

import pytest

from app.domain.priorities import priority_number, priority_word
from app.domain.queue_forecast import forecast

NOW = 1000.0


def told(
    max_runs: int, left: list[float | None], durations: list[float | None]
) -> list[tuple[float | None, float | None, bool]]:
    found = forecast(now=NOW, max_runs=max_runs, seconds_left=left, durations_s=durations)
    return [(one.start_at, one.end_at, one.is_latest) for one in found]


def test_one_slot_is_handed_on_in_order() -> None:
    assert told(1, [60.0], [10.0, 20.0]) == [(1060.0, 1070.0, False), (1070.0, 1090.0, False)]


def test_two_slots_take_whoever_is_next_when_they_become_free() -> None:
    assert told(2, [100.0, 30.0], [50.0, 5.0, 7.0]) == [
        (1030.0, 1080.0, False), (1080.0, 1085.0, False), (1085.0, 1092.0, False),
    ]  # fmt: skip


def test_a_free_slot_means_now() -> None:
    assert told(2, [None], [10.0]) == [(NOW, 1010.0, False)]


def test_nothing_is_told_while_no_end_is_known() -> None:
    assert told(1, [None], [10.0, 20.0]) == [(None, None, False)] * 2


def test_beside_an_unknown_end_a_start_is_the_latest() -> None:
    assert told(2, [None, 40.0], [None, 10.0]) == [(1040.0, None, True), (None, None, False)]


def test_a_slot_that_no_longer_exists_is_not_handed_on() -> None:
    assert told(1, [10.0, 50.0], [5.0]) == [(1050.0, 1055.0, False)]


def test_time_that_is_over_is_now() -> None:
    assert told(1, [-5.0], [1.0]) == [(NOW, 1001.0, False)]


@pytest.mark.parametrize(("number", "word"), [(10, "high"), (3, "high"), (0, "normal"), (-1, "low")])
def test_numbers_have_words(number: int, word: str) -> None:
    assert priority_word(number) == word
    assert priority_word(priority_number(word)) == word
