"""Merging small chunks loses nothing, mixes no attempts, and has an end."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.domain.run_states import RunState
from app.store import metrics, runs
from app.store.chunk_codec import CHUNK_POINTS, CLOSED_POINTS, Columns, join
from app.store.compaction import Compactor, compact_series, plan
from app.store.engine import Store
from app.store.models import Series
from tests.app.rows import store_running


def append(store: Store, values: list[float], *, attempt: int = 1) -> None:
    points = Columns(np.arange(len(values)), np.linspace(1.7e9, 1.8e9, len(values)), np.array(values))
    store.write(partial(metrics.append, run_id="run-1", attempt=attempt, columns={"loss": points}))


def chunks(store: Store) -> list[metrics.ChunkRow]:
    with store.read() as session:
        (series,) = metrics.list_series(session, "run-1")
        return metrics.chunks_of(session, [series.id])


def values(store: Store) -> list[float]:
    rows = chunks(store)
    with store.read() as session:
        columns = metrics.columns_of(session, [row.id for row in rows])
    found: list[float] = join([columns[row.id] for row in rows]).values.tolist()
    return found


def compact(store: Store, *, everything: bool = False) -> int:
    return store.write(partial(compact_series, series_id=chunks(store)[0].series_id, everything=everything))


@given(st.lists(st.integers(1, CLOSED_POINTS - 1), min_size=1, max_size=300), st.booleans())
def test_a_plan_takes_the_newest_chunks_and_repeating_it_ends(counts: list[int], everything: bool) -> None:
    for _ in range(20):
        chosen = plan(counts, everything=everything)
        if chosen is None:
            return
        assert len(chosen) > 1
        assert chosen.stop == len(counts)
        merged = sum(counts[chosen.start :])
        counts = [*counts[: chosen.start], merged % CHUNK_POINTS]
        if merged % CHUNK_POINTS == 0 or counts[-1] >= CLOSED_POINTS:
            return
    raise AssertionError("planning has no end")


def test_points_keep_their_order_and_number_whatever_the_sizes(store: Store) -> None:
    store_running(store)
    rng = np.random.default_rng(0)
    expected: list[float] = []
    for size in [*rng.integers(1, 200, 150).tolist(), 5_000, 3, 9_000, 1]:
        piece = rng.normal(size=size).tolist()
        append(store, piece)
        expected += piece
        if rng.random() < 0.2:
            compact(store)
    assert values(store) == expected
    compact(store, everything=True)
    assert values(store) == expected
    rows = chunks(store)
    assert [row.start for row in rows] == np.cumsum([0, *[row.count for row in rows]])[:-1].tolist()
    assert max(row.count for row in rows) <= CHUNK_POINTS
    assert compact(store, everything=True) == 0
    assert [row.id for row in chunks(store)] == [row.id for row in rows]


def test_many_single_points_become_full_chunks(store: Store) -> None:
    store_running(store)
    for index in range(CHUNK_POINTS // 16 + 8):
        append(store, [float(index)] * 16)
        if index % 32 == 31:
            compact(store)
    compact(store)
    assert CHUNK_POINTS in [row.count for row in chunks(store)]
    assert len(chunks(store)) < 24


def test_attempts_are_never_put_together(store: Store) -> None:
    store_running(store)
    for attempt in (1, 1, 1, 2, 2, 2, 3):
        append(store, [float(attempt)] * 10, attempt=attempt)
    compact(store, everything=True)
    assert [(row.attempt, row.count) for row in chunks(store)] == [(1, 30), (2, 30), (3, 10)]


def test_the_compactor_finds_live_series_by_itself_and_tidies_up_ended_runs(store: Store) -> None:
    store_running(store)
    compactor = Compactor(store)
    for _ in range(31):
        append(store, [1.0])
    assert compactor.run_once(ended=True) == 0
    append(store, [2.0])
    assert compactor.run_once(ended=False) == 32
    assert values(store) == [1.0] * 31 + [2.0]
    append(store, [3.0])
    store.write(lambda s: runs.transition(s, "run-1", new=RunState.FINISHED))
    assert compactor.run_once(ended=True) == 2
    assert compactor.run_once(ended=True) == 0
    with store.read() as session:
        series = session.get(Series, chunks(store)[0].series_id)
        assert series is not None
        assert series.open_chunks == 0
