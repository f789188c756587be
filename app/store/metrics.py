"""Points of series: appended as chunks, read back by series and range.

In a chunk's row ``first_*`` and ``last_*`` are the smallest and the largest
step and time, which for points out of order are not those of its ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeVar

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.orm import Session

from app.store import chunk_codec
from app.store.chunk_codec import CHUNK_POINTS, CLOSED_POINTS, Columns
from app.store.models import Attempt, MetricChunk, Series

T = TypeVar("T")
_IN_LIST: Final = 500  # values per IN (...): far below every database's limit


@dataclass(frozen=True)
class SeriesRow:
    """One series as stored. Points are numbered from 0 in order of arrival."""

    id: int
    run_id: str
    name: str
    total_points: int
    last_step: int | None
    last_time: float | None


@dataclass(frozen=True)
class ChunkRow:
    """A chunk without its columns; ranges are inclusive, times Unix seconds."""

    id: int
    series_id: int
    attempt: int
    start: int
    count: int
    first_step: int
    last_step: int
    first_time: float
    last_time: float


def append(session: Session, run_id: str, *, attempt: int, columns: Mapping[str, Columns]) -> dict[str, int]:
    """Append points to the series of a run, and make series that are new.

    Returns:
        For each name the number its first new point got.
    """
    known = {row.name: row for row in _series_for_update(session, run_id, list(columns))}
    for name in columns.keys() - known.keys():
        known[name] = Series(run_id=run_id, name=name, total_points=0, open_chunks=0)
        session.add(known[name])
    session.flush()
    starts: dict[str, int] = {}
    chunks: list[dict[str, Any]] = []
    updates: list[dict[str, Any]] = []
    for name, points in columns.items():
        series = known[name]
        starts[name] = series.total_points
        pieces = chunk_rows(series.id, attempt, series.total_points, points)
        chunks += pieces
        num_open = sum(piece["count"] < CLOSED_POINTS for piece in pieces)
        updates.append(
            {
                "row": series.id,
                "total": series.total_points + len(points),
                "step": int(points.steps[-1]),
                "time": float(points.times[-1]),
                "open": series.open_chunks + num_open,
            }
        )
    connection = session.connection()
    connection.execute(insert(MetricChunk), chunks)
    connection.execute(_ADVANCE, updates)
    return starts


def chunk_rows(series_id: int, attempt: int, start: int, points: Columns) -> list[dict[str, Any]]:
    """Rows of ``metric_chunks`` for ``points``: equal parts of at most ``CHUNK_POINTS``."""
    num_parts = -(-len(points) // CHUNK_POINTS)
    edges = [len(points) * part // num_parts for part in range(num_parts + 1)]
    return [
        chunk_row(series_id, attempt, start + left, points.take(slice(left, right)))
        for left, right in pairwise(edges)
    ]


def chunk_row(series_id: int, attempt: int, start: int, points: Columns) -> dict[str, Any]:
    """The row of one chunk."""
    return {
        "series_id": series_id,
        "attempt": attempt,
        "start": start,
        "count": len(points),
        "first_step": int(points.steps.min()),
        "last_step": int(points.steps.max()),
        "first_time": float(points.times.min()),
        "last_time": float(points.times.max()),
        **chunk_codec.encode(points),
    }


def list_series(session: Session, run_id: str) -> list[SeriesRow]:
    """The series of one run by name."""
    return _series_rows(session, Series.run_id == run_id)


def find_series(session: Session, run_ids: Sequence[str], name: str) -> list[SeriesRow]:
    """The series called ``name`` of those runs that have one."""
    found: list[SeriesRow] = []
    for some in _slices(run_ids):
        found += _series_rows(session, Series.run_id.in_(some), Series.name == name)
    return found


def chunks_of(session: Session, series_ids: Sequence[int], *, after: int | None = None) -> list[ChunkRow]:
    """Chunks of the series without their columns, by series and start.

    Args:
        after: only chunks with points numbered ``after`` or higher.
    """
    found: list[ChunkRow] = []
    for some in _slices(series_ids):
        statement = select(*_CHUNK_FIELDS).where(MetricChunk.series_id.in_(some))
        if after is not None:
            statement = statement.where(MetricChunk.start + MetricChunk.count > after)
        rows = session.execute(statement.order_by(MetricChunk.series_id, MetricChunk.start))
        found += [ChunkRow(*row) for row in rows]
    return found


def sketches_of(session: Session, chunk_ids: Iterable[int]) -> dict[int, bytes]:
    """The sketches of those chunks that carry one."""
    found: dict[int, bytes] = {}
    for some in _slices(list(chunk_ids)):
        rows = session.execute(
            select(MetricChunk.id, MetricChunk.sketch).where(
                MetricChunk.id.in_(some), MetricChunk.sketch.is_not(None)
            )
        )
        found.update((chunk_id, sketch) for chunk_id, sketch in rows if sketch is not None)
    return found


def columns_of(session: Session, chunk_ids: Iterable[int]) -> dict[int, Columns]:
    """All points of those chunks."""
    found: dict[int, Columns] = {}
    fields = (MetricChunk.id, MetricChunk.count, MetricChunk.steps, MetricChunk.times, MetricChunk.values)
    for some in _slices(list(chunk_ids)):
        for chunk_id, count, steps, times, values in session.execute(
            select(*fields).where(MetricChunk.id.in_(some))
        ):
            found[chunk_id] = chunk_codec.decode(count, steps, times, values)
    return found


def cutoffs(session: Session, run_ids: Sequence[str]) -> dict[str, dict[int, int]]:
    """Per run and attempt the last step that still counts; attempts without a successor are absent.

    A later attempt that began at ``from_step`` supersedes what earlier ones reported beyond it.
    """
    begun: dict[str, list[tuple[int, int]]] = {}
    for some in _slices(run_ids):
        rows = session.execute(
            select(Attempt.run_id, Attempt.number, Attempt.from_step).where(Attempt.run_id.in_(some))
        )
        for run_id, number, from_step in rows:
            begun.setdefault(run_id, []).append((number, from_step))
    return {run_id: _last_steps(sorted(numbers)) for run_id, numbers in begun.items()}


def _last_steps(begun: list[tuple[int, int]]) -> dict[int, int]:
    return {
        number: min(from_step for _, from_step in begun[index + 1 :])
        for index, (number, _) in enumerate(begun[:-1])
    }


def _series_for_update(session: Session, run_id: str, names: list[str]) -> list[Series]:
    found: list[Series] = []
    for some in _slices(names):
        found += session.scalars(select(Series).where(Series.run_id == run_id, Series.name.in_(some)))
    return found


def _series_rows(session: Session, *conditions: Any) -> list[SeriesRow]:
    rows = session.execute(select(*_SERIES_FIELDS).where(*conditions).order_by(Series.name))
    return [SeriesRow(*row) for row in rows]


def _slices(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[index : index + _IN_LIST] for index in range(0, len(items), _IN_LIST)]


_SERIES_FIELDS: Final = (
    Series.id, Series.run_id, Series.name, Series.total_points, Series.last_step, Series.last_time,
)  # fmt: skip
_CHUNK_FIELDS: Final = (
    MetricChunk.id, MetricChunk.series_id, MetricChunk.attempt, MetricChunk.start, MetricChunk.count,
    MetricChunk.first_step, MetricChunk.last_step, MetricChunk.first_time, MetricChunk.last_time,
)  # fmt: skip
_ADVANCE: Final = (
    update(Series.__table__)  # type: ignore[arg-type]
    .where(Series.__table__.c.id == bindparam("row"))
    .values(
        total_points=bindparam("total"),
        last_step=bindparam("step"),
        last_time=bindparam("time"),
        open_chunks=bindparam("open"),
    )
)
