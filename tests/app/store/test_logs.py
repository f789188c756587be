"""Output is kept byte for byte, whatever the pieces."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.store import logs
from app.store.engine import Store
from tests.app.rows import store_running


def append(store: Store, offset: int, content: bytes, attempt: int = 1) -> int:
    return store.write(
        partial(logs.append_output, run_id="run-1", attempt=attempt, offset=offset, content=content)
    )


@pytest.fixture
def running(store: Store) -> Store:
    store_running(store)
    return store


def test_pieces_join_and_repeats_are_skipped(running: Store) -> None:
    assert append(running, 0, b"hello ") == 6
    assert append(running, 0, b"hello ") == 6
    assert append(running, 3, b"lo world") == 11
    with running.read() as session:
        piece = logs.read_output(session, "run-1", attempt=1, offset=0)
    assert piece == logs.OutputPiece(0, b"hello world", 11)


def test_a_piece_beyond_a_hole_is_not_taken(running: Store) -> None:
    append(running, 0, b"abc")
    assert append(running, 10, b"xyz") == 3


def test_attempts_are_kept_apart(running: Store) -> None:
    append(running, 0, b"first")
    append(running, 0, b"second", attempt=2)
    with running.read() as session:
        assert logs.output_marks(session, "run-1") == {1: 5, 2: 6}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(1, 30_000), max_size=8),
    window=st.tuples(st.integers(0, 99), st.integers(1, 60_000)),
)
def test_any_window_reads_back_as_written(running: Store, sizes: list[int], window: tuple[int, int]) -> None:
    with running.read() as session:
        attempt = max([1, *logs.output_marks(session, "run-1")]) + 1
    whole = b"".join(bytes([65 + i % 26]) * size for i, size in enumerate(sizes))
    offset = 0
    for size in sizes:
        offset = append(running, offset, whole[offset : offset + size], attempt=attempt)
    begin = len(whole) * window[0] // 100
    with running.read() as session:
        piece = logs.read_output(session, "run-1", attempt=attempt, offset=begin, limit_bytes=window[1])
        tail = logs.read_output(session, "run-1", attempt=attempt, offset=None, limit_bytes=window[1])
    assert piece.content == whole[begin : begin + window[1]]
    assert tail.content == whole[-window[1] :]
