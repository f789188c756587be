"""The chunk codec gives back exactly what it was given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.store import chunk_codec
from app.store.chunk_codec import Columns

STEPS = st.integers(0, 2**53)
TIMES = st.floats(0, 4e9)
VALUES = st.one_of(st.floats(), st.floats(width=32), st.just(-0.0))


def columns(points: list[tuple[int, float, float]]) -> Columns:
    steps, times, values = zip(*points, strict=True)
    return Columns(np.array(steps, np.int64), np.array(times), np.array(values))


def round_trip(points: Columns) -> Columns:
    blobs = chunk_codec.encode(points)
    return chunk_codec.decode(
        len(points), blobs["steps"] or b"", blobs["times"] or b"", blobs["values"] or b""
    )


@given(st.lists(st.tuples(STEPS, TIMES, VALUES), min_size=1, max_size=200))
def test_any_points_survive_the_round_trip(points: list[tuple[int, float, float]]) -> None:
    given_points = columns(points)
    read = round_trip(given_points)
    assert np.array_equal(read.steps, given_points.steps)
    assert np.abs(read.times - given_points.times).max() <= 1e-6
    nan = np.isnan(given_points.values)
    assert np.array_equal(np.isnan(read.values), nan)
    assert np.array_equal(read.values[~nan].view(np.int64), given_points.values[~nan].view(np.int64))


def test_a_second_round_trip_changes_no_time() -> None:
    times = 1.7e9 + np.random.default_rng(0).random(5_000) * 1e8
    once = round_trip(Columns(np.arange(5_000), times, times))
    assert np.array_equal(round_trip(once).times, once.times)


def test_an_arithmetic_progression_of_steps_needs_no_bytes_per_point() -> None:
    steps = chunk_codec.encode(Columns(np.arange(0, 40_960, 10), np.zeros(4096), np.zeros(4096)))["steps"]
    assert len(steps or b"") < 20


def test_a_column_of_the_wrong_length_is_noticed() -> None:
    blobs = chunk_codec.encode(columns([(1, 1.0, 1.5), (7, 2.0, 2.5), (8, 2.5, 3.5)]))
    with pytest.raises(ValueError, match="does not hold 4"):
        chunk_codec.decode(4, blobs["steps"] or b"", blobs["times"] or b"", blobs["values"] or b"")


@given(
    st.integers(chunk_codec.CLOSED_POINTS, chunk_codec.CHUNK_POINTS),
    st.lists(st.tuples(st.integers(0, 4095), st.sampled_from([1e9, -1e9, np.nan, np.inf])), max_size=8),
)
def test_a_sketch_holds_every_spike_the_ends_and_a_sign_of_every_gap(
    count: int, spikes: list[tuple[int, float]]
) -> None:
    values = np.random.default_rng(count).normal(size=count)
    for position, spike in spikes:
        values[position % count] = spike
    points = Columns(np.arange(count), np.arange(count) / 7, values)
    sketch = chunk_codec.decode_sketches([chunk_codec.encode(points)["sketch"] or b""])
    assert np.all(np.diff(sketch.steps) > 0)
    assert (sketch.steps[0], sketch.steps[-1]) == (0, count - 1)
    finite = np.isfinite(values)
    kept = sketch.values[np.isfinite(sketch.values)]
    assert (kept.min(), kept.max()) == (values[finite].min(), values[finite].max())
    buckets = set((np.flatnonzero(~finite) // chunk_codec.SKETCH_BUCKET).tolist())
    gaps = set((sketch.steps[~np.isfinite(sketch.values)] // chunk_codec.SKETCH_BUCKET).tolist())
    assert buckets == gaps
