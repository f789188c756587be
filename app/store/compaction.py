"""Small chunks become full ones in the background.

Live runs append a few points at a time.  A series with many such chunks gets
its newest ones merged, by sizes that double, so that a point is rewritten a
few times at most; once ``CHUNK_POINTS`` have gathered they become one full
chunk for good.  Points of different attempts are never put together, nothing
is reordered, and a merge is one transaction: before it or after it, never
between.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import partial
from typing import Final

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from app.domain.run_states import ENDED
from app.errors import SignalboxError
from app.store import metrics
from app.store.chunk_codec import CHUNK_POINTS, CLOSED_POINTS, join
from app.store.engine import Store
from app.store.models import MetricChunk, Run, Series

log = logging.getLogger(__name__)

_LIVE_CHUNKS: Final = 32  # this many small chunks make a series worth a merge
_WORTH: Final = 8
_PERIOD_S: Final = 1.0
_ENDED_EVERY: Final = 15  # periods between two looks at runs that have ended
_SERIES_PER_LOOK: Final = 200


def plan(counts: Sequence[int], *, everything: bool) -> range | None:
    """Which of neighbouring small chunks to merge now.

    Args:
        counts: points per chunk, in order, one attempt, each below ``CLOSED_POINTS``.
        everything: no further points will follow; merge all.
    Returns:
        Positions to merge, or None when waiting is better.
    """
    if everything or sum(counts) >= CHUNK_POINTS:
        return range(len(counts)) if len(counts) > 1 else None
    first = len(counts) - 1
    gathered = counts[first]
    while first > 0 and counts[first - 1] <= 2 * gathered and gathered + counts[first - 1] < CLOSED_POINTS:
        first -= 1
        gathered += counts[first]
    return range(first, len(counts)) if len(counts) - first >= _WORTH else None


def compact_series(session: Session, series_id: int, *, everything: bool = False) -> int:
    """Merge small chunks of one series; returns how many were replaced. Safe to repeat.

    Args:
        everything: the run has ended; leave no two neighbours unmerged.
    """
    total = session.scalar(select(Series.total_points).where(Series.id == series_id))
    if total is None:
        return 0
    replaced = left_open = 0
    for group in _open_groups(session, series_id):
        grows = group[-1].start + group[-1].count == total and not everything
        chosen = plan([chunk.count for chunk in group], everything=not grows)
        if chosen is not None:
            replaced += len(chosen)
            _merge(session, [group[index] for index in chosen])
        if grows:
            left_open = len(group) if chosen is None else chosen.start + 1
    session.execute(
        update(Series)
        .where(Series.id == series_id)
        .values(open_chunks=left_open)
        .execution_options(synchronize_session=False)
    )
    return replaced


def _open_groups(session: Session, series_id: int) -> list[list[metrics.ChunkRow]]:
    """Small chunks of a series, neighbours of one attempt together."""
    groups: list[list[metrics.ChunkRow]] = []
    end = attempt = -1
    for chunk in metrics.chunks_of(session, [series_id]):
        if chunk.count >= CLOSED_POINTS:
            continue
        if chunk.start != end or chunk.attempt != attempt:
            groups.append([])
        groups[-1].append(chunk)
        end, attempt = chunk.start + chunk.count, chunk.attempt
    return groups


def _merge(session: Session, chunks: list[metrics.ChunkRow]) -> None:
    columns = metrics.columns_of(session, [chunk.id for chunk in chunks])
    points = join([columns[chunk.id] for chunk in chunks])
    session.execute(
        delete(MetricChunk)
        .where(MetricChunk.id.in_([chunk.id for chunk in chunks]))
        .execution_options(synchronize_session=False)
    )
    head = chunks[0]
    rows = [
        metrics.chunk_row(
            head.series_id, head.attempt, head.start + left, points.take(slice(left, left + CHUNK_POINTS))
        )
        for left in range(0, len(points), CHUNK_POINTS)
    ]
    session.connection().execute(insert(MetricChunk), rows)


class Compactor:
    """The thread that looks for series worth a merge and asks the writer, one series at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start looking, once a second."""
        self._thread = threading.Thread(target=self._run, name="compaction", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the merge in progress."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def run_once(self, *, ended: bool) -> int:
        """Merge what is worth it now; returns how many chunks were replaced.

        Args:
            ended: also tidy up the series of runs that have ended.
        """
        with self._store.read() as session:
            live = list(
                session.scalars(
                    select(Series.id)
                    .where(Series.open_chunks >= _LIVE_CHUNKS)
                    .order_by(Series.open_chunks.desc())
                    .limit(_SERIES_PER_LOOK)
                )
            )
            final = _of_ended_runs(session) if ended else []
        replaced = 0
        for series_id, everything in [(each, False) for each in live] + [(each, True) for each in final]:
            if self._stop.is_set():
                break
            replaced += self._store.write(partial(compact_series, series_id=series_id, everything=everything))
        return replaced

    def _run(self) -> None:
        looks = 0
        while not self._stop.wait(_PERIOD_S):
            looks += 1
            try:
                self.run_once(ended=looks % _ENDED_EVERY == 0)
            except SignalboxError as exc:
                log.warning("compaction waits: %s", exc)
            except Exception:
                log.exception("compaction failed; it is tried again")


def _of_ended_runs(session: Session) -> list[int]:
    return list(
        session.scalars(
            select(Series.id)
            .join(Run, Run.id == Series.run_id)
            .where(Series.open_chunks > 0, Run.state.in_([state.value for state in ENDED]))
            .limit(_SERIES_PER_LOOK)
        )
    )
