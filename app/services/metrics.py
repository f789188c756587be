"""Series for charts: never more points than asked for, never without a spike.

Gaps: NaN and infinities cannot be drawn, and a line must break there.  Each
run of consecutive non-finite points keeps its first point, up to a quarter of
the budget (spread over the range when there are more), so the break stays
visible; the smallest and largest finite value of every pixel column are picked
by tsdownsample's MinMax; the first and the last point stay.

Far out, where a chart has fewer pixels than the sketches of the chunks have
points, chunks are not opened at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session
from tsdownsample import MinMaxDownsampler

from app.errors import InvalidRequest, NotFound
from app.store import metrics, runs
from app.store.chunk_codec import SKETCH_BUCKET, Columns, decode_sketches, join
from app.store.engine import Store
from app.store.metrics import ChunkRow, SeriesRow

Axis = Literal["step", "time", "relative"]
Rows = NDArray[np.int64]

DEFAULT_POINTS: Final = 1_500
MIN_POINTS: Final = 8  # two ends, two gaps, two pixel columns
MAX_POINTS: Final = 20_000


@dataclass(frozen=True)
class SeriesPoints:
    """Points of one series for a chart.

    ``steps`` (int64), ``times`` (float64, Unix seconds) and ``values`` (float64, non-finite ones included)
    are aligned, shape (n,).  ``total_points`` counts all points that have arrived, superseded ones too: a
    browser that goes on live continues from there.  ``start`` is the number of the first point of an answer
    to ``after``; ``origin`` is the Unix time that relative ranges count from.
    """

    name: str
    steps: NDArray[np.int64]
    times: NDArray[np.float64]
    values: NDArray[np.float64]
    total_points: int
    downsampled: bool
    start: int | None = None
    origin: float | None = None


@dataclass(frozen=True)
class _View:
    """What a chart looks at: axis, inclusive range in the axis' unit, budget."""

    axis: Axis
    first: float
    last: float
    points: int


class MetricReader:
    """Reads series for charts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def names(self, run_id: str) -> list[dict[str, Any]]:
        """The series of a run: ``[{"name", "total_points", "last_step", "last_time"}]``.

        Raises:
            NotFound: there is no such run.
        """
        with self._store.read() as session:
            runs.get_run(session, run_id)
            return [
                {
                    "name": row.name,
                    "total_points": row.total_points,
                    "last_step": row.last_step,
                    "last_time": row.last_time,
                }
                for row in metrics.list_series(session, run_id)
            ]

    def read(
        self,
        run_id: str,
        name: str,
        *,
        x: Axis = "step",
        points: int = DEFAULT_POINTS,
        start: float | None = None,
        stop: float | None = None,
        after: int | None = None,
    ) -> SeriesPoints:
        """Points of one series.

        Args:
            run_id: which run.
            name: which series.
            x: what ``start`` and ``stop`` are measured in, and what pixels are spread over: steps, Unix
                seconds, or seconds since the run started.
            points: the budget.
            start: first x wanted, inclusive.
            stop: last x wanted, inclusive.
            after: only points numbered from here on, in order of arrival and with superseded ones; over
                the budget they are downsampled.
        Raises:
            NotFound: no such run or series.
            InvalidRequest: ``x``, ``points``, ``start`` or ``stop`` is out of bounds.
        """
        view = _view(x, points, start, stop)
        with self._store.read() as session:
            run = runs.get_run(session, run_id)
            found = metrics.find_series(session, [run_id], name)
            if not found:
                raise _no_series(session, run_id, name)
            if after is not None:
                return _after(session, found[0], after, view.points)
            origin = run.started_at or run.created_at
            if x == "relative":
                view = _View("time", view.first + origin, view.last + origin, view.points)
            series = _read(session, found, view)[found[0].id]
        return SeriesPoints(**{**vars(series), "origin": origin})

    def read_many(
        self, run_ids: Sequence[str], name: str, *, points: int = DEFAULT_POINTS
    ) -> dict[str, SeriesPoints]:
        """One series of many runs over steps, by run id in the order asked for; runs without it are absent.

        Raises:
            InvalidRequest: ``points`` is out of bounds.
        """
        view = _view("step", points, None, None)
        with self._store.read() as session:
            found = metrics.find_series(session, list(dict.fromkeys(run_ids)), name)
            by_series = _read(session, found, view)
        by_run = {row.run_id: by_series[row.id] for row in found}
        return {run_id: by_run[run_id] for run_id in run_ids if run_id in by_run}


def downsample(x: NDArray[Any], values: NDArray[np.float64], *, points: int) -> Rows:
    """Rows to draw, rising: at most ``points``, with every pixel column's extremes and the gaps.

    Args:
        x: where the points lie, not falling, shape (n,).
        values: shape (n,), NaN and infinities allowed.
        points: at least ``MIN_POINTS``.
    """
    count = len(values)
    if count <= points:
        return np.arange(count)
    finite = np.isfinite(values)
    gaps = _spread(x, np.flatnonzero(~finite & np.concatenate([[True], finite[:-1]])), points // 4)
    rows = np.flatnonzero(finite)
    budget = (points - 2 - len(gaps)) // 2 * 2
    if len(rows) > budget:
        rows = rows[_extremes(x[rows], values[rows], budget)]
    return np.unique(np.concatenate([[0, count - 1], gaps, rows]))


def _extremes(x: NDArray[Any], values: NDArray[np.float64], budget: int) -> Rows:
    picker = MinMaxDownsampler()  # type: ignore[no-untyped-call]
    axes = (values,) if x[0] == x[-1] else (x, values)
    return np.asarray(picker.downsample(*axes, n_out=budget)).astype(np.int64)


def _spread(x: NDArray[Any], rows: Rows, most: int) -> Rows:
    """At most ``most`` of ``rows``: the first in each of as many equal stretches of x."""
    if len(rows) <= most:
        return rows
    width = float(x[-1] - x[0]) or 1.0
    stretch = np.minimum(((x[rows] - x[0]) / width * most).astype(np.int64), most - 1)
    return rows[np.unique(stretch, return_index=True)[1]]


def _view(x: Axis, points: int, start: float | None, stop: float | None) -> _View:
    if x not in ("step", "time", "relative"):
        raise InvalidRequest(f"x must be step, time or relative, got {x!r}", field="x")
    if not MIN_POINTS <= points <= MAX_POINTS:
        raise InvalidRequest(f"points must be {MIN_POINTS} to {MAX_POINTS}, got {points}", field="points")
    first = -np.inf if start is None else start
    last = np.inf if stop is None else stop
    if np.isnan(first) or np.isnan(last) or first > last:
        raise InvalidRequest(f"the range {start} to {stop} is empty", field="start")
    return _View(x, first, last, points)


def _no_series(session: Session, run_id: str, name: str) -> NotFound:
    names = [row.name for row in metrics.list_series(session, run_id)]
    known = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return NotFound(f"Run {run_id} has no metric {name!r}.", hint=f"It has: {known or 'none yet'}.")


def _after(session: Session, series: SeriesRow, after: int, points: int) -> SeriesPoints:
    chunks = metrics.chunks_of(session, [series.id], after=after)
    columns = metrics.columns_of(session, [chunk.id for chunk in chunks])
    found = join([columns[chunk.id].take(slice(max(0, after - chunk.start), None)) for chunk in chunks])
    kept = found.take(downsample(np.arange(len(found)), found.values, points=points))
    return SeriesPoints(
        series.name, kept.steps, kept.times, kept.values, series.total_points, len(kept) < len(found), after
    )


def _read(session: Session, found: list[SeriesRow], view: _View) -> dict[int, SeriesPoints]:
    """The series by id, each seen through ``view``."""
    last_steps = metrics.cutoffs(session, [row.run_id for row in found])
    chunks: dict[int, list[ChunkRow]] = {row.id: [] for row in found}
    for chunk in metrics.chunks_of(session, list(chunks)):
        chunks[chunk.series_id].append(chunk)
    plans = {row.id: _Plan(chunks[row.id], last_steps.get(row.run_id, {}), view) for row in found}
    sketches = metrics.sketches_of(session, [i for plan in plans.values() for i in plan.sketched])
    opened = metrics.columns_of(session, [i for plan in plans.values() for i in plan.opened(sketches)])
    return {row.id: plans[row.id].points(row, sketches, opened) for row in found}


class _Plan:
    """Which chunks of a series a view needs, and how closely."""

    def __init__(self, chunks: list[ChunkRow], last_steps: dict[int, int], view: _View) -> None:
        self._view = view
        self._last_steps = last_steps
        self._chunks = [chunk for chunk in chunks if self._touches(chunk)]
        far_out = sum(chunk.count for chunk in self._chunks) // SKETCH_BUCKET * 2 >= view.points
        self.sketched = [chunk.id for chunk in self._chunks if far_out and self._is_whole(chunk)]

    def opened(self, sketches: dict[int, bytes]) -> list[int]:
        """Ids of the chunks whose points are needed."""
        return [chunk.id for chunk in self._chunks if chunk.id not in sketches]

    def points(self, row: SeriesRow, sketches: dict[int, bytes], opened: dict[int, Columns]) -> SeriesPoints:
        """The series, downsampled."""
        pieces: list[Columns] = []
        pending: list[bytes] = []
        total = 0
        for chunk in self._chunks:
            if chunk.id in sketches:
                pending.append(sketches[chunk.id])
                total += chunk.count
                continue
            if pending:
                pieces.append(decode_sketches(pending))
                pending = []
            pieces.append(self._visible(chunk, opened[chunk.id]))
            total += len(pieces[-1])
        if pending:
            pieces.append(decode_sketches(pending))
        kept = self._drawn(join(pieces))
        return SeriesPoints(
            row.name, kept.steps, kept.times, kept.values, row.total_points, len(kept) < total
        )

    def _drawn(self, points: Columns) -> Columns:
        x = self._x(points)
        if len(x) > 1 and bool((x[1:] < x[:-1]).any()):  # reported out of order: a line is drawn by x
            points = points.take(np.argsort(x, kind="stable"))
            x = self._x(points)
        return points.take(downsample(x, points.values, points=self._view.points))

    def _x(self, points: Columns) -> NDArray[Any]:
        return points.steps if self._view.axis == "step" else points.times

    def _range(self, chunk: ChunkRow) -> tuple[float, float]:
        if self._view.axis == "step":
            return chunk.first_step, chunk.last_step
        return chunk.first_time, chunk.last_time

    def _last_step(self, chunk: ChunkRow) -> float:
        return self._last_steps.get(chunk.attempt, np.inf)

    def _touches(self, chunk: ChunkRow) -> bool:
        first, last = self._range(chunk)
        inside = last >= self._view.first and first <= self._view.last
        return inside and chunk.first_step <= self._last_step(chunk)

    def _is_whole(self, chunk: ChunkRow) -> bool:
        first, last = self._range(chunk)
        inside = first >= self._view.first and last <= self._view.last
        return inside and chunk.last_step <= self._last_step(chunk)

    def _visible(self, chunk: ChunkRow, points: Columns) -> Columns:
        if self._is_whole(chunk):
            return points
        x = self._x(points)
        inside = (x >= self._view.first) & (x <= self._view.last) & (points.steps <= self._last_step(chunk))
        return points.take(inside)
