"""Charts: within budget, with every spike and gap, at any zoom."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.errors import InvalidRequest, NotFound
from app.services.ingest import Ingest
from app.services.metrics import Axis, MetricReader, downsample
from app.store import metrics
from app.store.chunk_codec import Columns
from app.store.engine import Store
from tests.app.fresh_database import fresh_database
from tests.app.rows import metrics_batch, store_running

SPIKES = st.lists(
    st.tuples(st.integers(0, 10**6), st.sampled_from([1e6, -1e6, np.nan, np.inf, -np.inf])), max_size=40
)


def append(store: Store, values: NDArray[np.float64], *, name: str = "loss", run_id: str = "run-1") -> None:
    count = len(values)
    points = Columns(np.arange(count), 1.7e9 + np.arange(count) / 10, values)
    store.write(partial(metrics.append, run_id=run_id, attempt=1, columns={name: points}))


@settings(deadline=None)
@given(count=st.integers(1, 5_000), points=st.integers(8, 800), spikes=SPIKES, by_x=st.booleans())
def test_the_budget_is_kept_and_no_extreme_is_missed(
    count: int, points: int, spikes: list[tuple[int, float]], by_x: bool
) -> None:
    values = np.random.default_rng(count).normal(size=count)
    for position, value in spikes:
        values[position % count] = value
    x = np.cumsum(np.random.default_rng(points).integers(0, 50, count)) if by_x else np.zeros(count)
    rows = downsample(x, values, points=points)
    assert len(rows) <= points
    assert np.all(np.diff(rows) > 0)
    assert (rows[0], rows[-1]) == (0, count - 1)
    finite = values[np.isfinite(values)]
    if len(finite):
        drawn = values[rows][np.isfinite(values[rows])]
        assert (drawn.min(), drawn.max()) == (finite.min(), finite.max())
    if len(finite) < count:
        assert not np.isfinite(values[rows]).all()


def test_every_gap_stays_when_the_budget_allows() -> None:
    values = np.zeros(100_000)
    for start in (100, 5_000, 70_000):
        values[start : start + 50] = np.nan
    rows = downsample(np.arange(100_000), values, points=1_000)
    assert rows[np.isnan(values[rows])].tolist() == [100, 5_000, 70_000]


@pytest.fixture(scope="module")
def long_series(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, NDArray[np.float64]]:
    path: Path = tmp_path_factory.mktemp("long")
    store = Store(fresh_database(path / "s.db"))
    store.start()
    store_running(store, started_at=1.7e9)
    values = np.random.default_rng(0).normal(size=500_000)
    for position in (0, 123_456, 300_001, 499_999):
        values[position] = 50.0 + position
    values[200_000:200_010] = np.nan
    for start in range(0, len(values), 7_000):
        part = values[start : start + 7_000]
        steps = np.arange(start, start + len(part))
        points = Columns(steps, 1.7e9 + steps / 10, part)
        store.write(partial(metrics.append, run_id="run-1", attempt=1, columns={"loss": points}))
    return store, values


def test_far_out_no_spike_and_no_gap_is_missed(long_series: tuple[Store, NDArray[np.float64]]) -> None:
    store, values = long_series
    read = MetricReader(store).read("run-1", "loss", points=1_000)
    assert read.downsampled
    assert read.total_points == 500_000
    assert len(read.steps) <= 1_000
    assert {0, 123_456, 300_001, 499_999} <= set(read.steps.tolist())
    assert np.isnan(read.values).any()
    assert np.array_equal(read.values, values[read.steps], equal_nan=True)
    assert np.abs(read.times - (1.7e9 + read.steps / 10)).max() < 1e-6


@pytest.mark.parametrize(
    ("x", "scale", "origin"), [("step", 1.0, 0.0), ("time", 0.1, 1.7e9), ("relative", 0.1, 0.0)]
)
def test_a_range_reads_exactly_its_points(
    long_series: tuple[Store, NDArray[np.float64]], x: Axis, scale: float, origin: float
) -> None:
    store, values = long_series
    read = MetricReader(store).read(
        "run-1",
        "loss",
        x=x,
        start=origin + 200_005 * scale,
        stop=origin + 200_904 * scale,
    )
    assert not read.downsampled
    assert read.steps.tolist() == list(range(200_005, 200_905))
    assert np.array_equal(read.values, values[200_005:200_905], equal_nan=True)


def test_zooming_in_shows_more_detail_of_the_same_points(
    long_series: tuple[Store, NDArray[np.float64]],
) -> None:
    store, values = long_series
    read = MetricReader(store).read("run-1", "loss", points=500, start=100_000, stop=399_999)
    inside = values[100_000:400_000]
    assert len(read.steps) <= 500
    assert (read.steps[0], read.steps[-1]) == (100_000, 399_999)
    assert np.nanmax(read.values) == np.nanmax(inside)
    assert np.nanmin(read.values) == np.nanmin(inside)


def test_what_was_missed_comes_raw_from_its_number_on(store: Store, ingest: Ingest) -> None:
    store_running(store)
    ingest.accept(metrics_batch(1, [1.0, 2.0, 3.0]))
    ingest.accept(metrics_batch(4, [4.0, 5.0]))
    read = MetricReader(store).read("run-1", "train/loss", after=2)
    assert (read.start, read.values.tolist(), read.total_points) == (2, [3.0, 4.0, 5.0], 5)
    assert MetricReader(store).read("run-1", "train/loss", after=5).values.tolist() == []
    assert MetricReader(store).read("run-1", "train/loss", after=99).values.tolist() == []


def test_points_out_of_order_are_drawn_in_order(store: Store, ingest: Ingest) -> None:
    store_running(store)
    ingest.accept(metrics_batch(1, [5.0, 6.0], steps=[5, 6]))
    ingest.accept(metrics_batch(3, [1.0, 2.0], steps=[1, 2]))
    assert MetricReader(store).read("run-1", "train/loss").steps.tolist() == [1, 2, 5, 6]


def test_many_runs_are_read_at_once_in_the_order_asked_for(store: Store) -> None:
    for run_id in ("a", "b", "c"):
        store_running(store, run_id)
    append(store, np.array([1.0, 2.0]), run_id="a")
    append(store, np.array([3.0]), run_id="c")
    found = MetricReader(store).read_many(["c", "b", "a", "nobody"], "loss")
    assert {run_id: series.values.tolist() for run_id, series in found.items()} == {
        "c": [3.0],
        "a": [1.0, 2.0],
    }
    assert list(found) == ["c", "a"]


def test_an_unknown_series_names_the_known_ones(store: Store) -> None:
    store_running(store)
    append(store, np.array([1.0]), name="train/loss")
    with pytest.raises(NotFound) as caught:
        MetricReader(store).read("run-1", "train/los")
    assert "train/loss" in (caught.value.hint or "")
    with pytest.raises(NotFound, match="nobody"):
        MetricReader(store).read("nobody", "train/loss")


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("x", {"x": "epoch"}),
        ("points", {"points": 0}),
        ("points", {"points": 10**9}),
        ("start", {"start": 2, "stop": 1}),
    ],
)
def test_a_query_out_of_bounds_names_the_parameter(store: Store, field: str, query: dict[str, float]) -> None:
    store_running(store)
    with pytest.raises(InvalidRequest) as caught:
        MetricReader(store).read("run-1", "loss", **query)  # type: ignore[arg-type]
    assert caught.value.field == field
