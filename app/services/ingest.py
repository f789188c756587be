"""What supervisors report enters the store here, exactly once in effect.

A stream's high-water mark moves in the transaction that stores its events, so
a batch sent twice changes nothing and a batch that would leave a hole is
refused with what is there.  Browsers are told after the commit.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sqlalchemy.orm import Session

from app.domain.run_states import ENDED, RunState
from app.errors import Conflict, InvalidRequest, TooLarge
from app.services import ingest_end, ingest_events, ingest_snapshots
from app.services.ingest_checks import MAX_STEP, Fields, check_events, columns_of
from app.store import logs, metrics, runs, snapshots
from app.store.chunk_codec import Columns
from app.store.engine import Store
from app.store.models import Run, StreamMark
from trainer.protocol.batches import Batch
from trainer.protocol.events import Stream, encode_number

MAX_OUTPUT_BYTES: Final = 4 * 1024 * 1024
_STATUS_EVERY_S: Final = 1.0
_LIVE_PULSE_S: Final = 10.0  # a younger pulse proves that a run thought lost is alive


class SequenceGap(Conflict):
    """The batch does not continue its stream; ``have`` is the last seq stored."""

    code = "gap"

    def __init__(self, have: int, *, first: int) -> None:
        super().__init__(f"The batch begins at {first}, but {have} is the last event stored.")
        self.have = have


class Live(Protocol):
    """Who is told about news after the commit; called on the writer thread, so it must be quick."""

    def run_changed(self, run_id: str) -> None:
        """The run's row changed."""

    def points(self, run_id: str, name: str, start: int, points: Columns) -> None:
        """A series got points, the first of them numbered ``start``."""

    def output(self, run_id: str, attempt: int, offset: int, text: bytes) -> None:
        """An attempt's output grew at ``offset``."""

    def event(self, run_id: str, event: dict[str, Any]) -> None:
        """A sparse event was stored."""

    def snapshot(self, run_id: str, dataset: str, step: int, summary: dict[str, Any]) -> None:
        """A snapshot was stored."""


@dataclass
class _News:
    """What a stored batch changed."""

    have: int
    changed: bool = False
    points: list[tuple[str, int, Columns]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


class Ingest:
    """The only writer of metrics, output, events and snapshots."""

    def __init__(self, store: Store, live: Live) -> None:
        self._store = store
        self._live = live
        self._status_lock = threading.Lock()
        self._status_at: dict[str, float] = {}  # monotonic, per run

    def hello(self, run_id: str, *, attempt: int) -> dict[str, Any]:
        """What is stored of a run: ``{"trainer": N, "supervisor": M, "output": {"1": bytes}}``.

        Raises:
            NotFound: there is no such run.
        """
        with self._store.read() as session:
            runs.get_run(session, run_id)
            marks = runs.stream_marks(session, run_id)
            output = logs.output_marks(session, run_id)
        if attempt >= 1:
            output.setdefault(attempt, 0)
        have: dict[str, Any] = {stream.value: marks.get(stream.value, 0) for stream in Stream}
        return {**have, "output": {str(number): num_bytes for number, num_bytes in sorted(output.items())}}

    def accept(self, batch: Batch) -> int:
        """Store a batch and return the last seq stored of its stream; a duplicate changes nothing.

        Raises:
            NotFound: there is no such run.
            InvalidRequest: something in the batch breaks the contract; nothing of it is stored.
            SequenceGap: the batch begins after the next seq, or overlaps what is stored.
            Unavailable: the database cannot store now.
        """
        check_events(batch)
        columns = columns_of(batch)
        news = self._store.write(
            lambda session: _store_batch(session, batch, columns),
            after_commit=lambda news: self._tell(batch.run, news),
        )
        return news.have

    def accept_output(self, run_id: str, *, attempt: int, offset: int, text: bytes) -> int:
        """Store a piece of an attempt's output; returns the offset to send from next.

        Raises:
            NotFound: there is no such run.
            InvalidRequest: attempt or offset is out of bounds.
            TooLarge: the piece is over 4 MiB.
        """
        if not 1 <= attempt < 2**31:
            raise InvalidRequest(f"attempt must be a positive whole number, got {attempt}", field="attempt")
        if not 0 <= offset <= MAX_STEP:
            raise InvalidRequest(f"offset must be a byte position, got {offset}", field="offset")
        if len(text) > MAX_OUTPUT_BYTES:
            raise TooLarge(f"a piece of output has at most {MAX_OUTPUT_BYTES} bytes, got {len(text)}")

        def work(session: Session) -> tuple[int, int]:
            runs.get_run(session, run_id)
            before = logs.output_have(session, run_id, attempt)
            return before, logs.append_output(session, run_id, attempt=attempt, offset=offset, content=text)

        def tell(marks: tuple[int, int]) -> None:
            before, have = marks
            if have > before:
                self._live.output(run_id, attempt, before, text[before - offset :])

        return self._store.write(work, after_commit=tell)[1]

    def accept_status(self, run_id: str, status: dict[str, Any]) -> None:
        """Note a run's newest pulse on its row, at most once a second; nothing of it is kept as an event.

        Args:
            status: ``{"heartbeat": {...} | null, "beat_age_s", "progress_age_s", ...}``.
        Raises:
            NotFound: there is no such run.
            InvalidRequest: a field has the wrong type.
        """
        pulse = _Pulse.of(status)
        now = time.monotonic()
        with self._status_lock:
            if pulse is None or now - self._status_at.get(run_id, -math.inf) < _STATUS_EVERY_S:
                return
            self._status_at[run_id] = now
        self._store.write(
            lambda session: _store_pulse(session, run_id, pulse),
            after_commit=lambda changed: self._live.run_changed(run_id) if changed else None,
        )

    def accept_end(self, run_id: str, message: Mapping[str, Any]) -> None:
        """Take the end of a run that no disk would take; told again, or late, it changes nothing.

        Args:
            message: ``{"state": {...}, "findings": [{...}, ...]}``, fields as in the events of these types.
        Raises:
            NotFound: there is no such run.
            InvalidRequest: a field is missing or wrong; names it.
        """
        told = ingest_end.check_end(message)

        def tell(events: list[dict[str, Any]]) -> None:
            if events:
                kept = [{**event, "stream": ingest_end.STREAM} for event in events]
                self._tell(run_id, _News(0, changed=True, events=kept))

        self._store.write(lambda session: ingest_end.store_end(session, run_id, told), after_commit=tell)

    def accept_snapshot(self, run_id: str, payload: bytes) -> None:
        """Store a snapshot file; sent again it changes nothing.

        Args:
            payload: gzip of the JSON object of ``trainer.protocol.events``.
        Raises:
            NotFound: there is no such run.
            InvalidRequest: not gzip, not JSON, or a field is wrong; names it.
            TooLarge: it unpacks to more than the limit.
        """
        parsed = ingest_snapshots.parse(payload)

        def work(session: Session) -> bool:
            run = runs.get_run(session, run_id)
            return snapshots.save(session, run_id, parsed, attempt=parsed.attempt or max(1, run.attempt))

        def tell(is_new: bool) -> None:
            if is_new:
                self._live.snapshot(run_id, parsed.dataset, parsed.step, parsed.summary)

        self._store.write(work, after_commit=tell)

    def _tell(self, run_id: str, news: _News) -> None:
        for name, start, points in news.points:
            self._live.points(run_id, name, start, points)
        for event in news.events:
            self._live.event(run_id, event)
        if news.changed:
            self._live.run_changed(run_id)


def _store_batch(session: Session, batch: Batch, columns: dict[int, dict[str, Columns]]) -> _News:
    run = runs.get_run(session, batch.run)
    mark = session.get(StreamMark, (batch.run, batch.stream.value))
    have = 0 if mark is None else mark.have
    if batch.last <= have:
        return _News(have)
    if batch.first > have + 1 or (batch.first <= have and batch.blocks):
        # points carry no seq, so the new part of an overlapping batch cannot be told apart
        raise SequenceGap(have, first=batch.first)
    news = _News(batch.last, changed=True)
    values: dict[str, Any] = {}
    for event in batch.events:
        if event["seq"] > have and ingest_events.apply(session, run, batch.stream, event, values):
            news.events.append({**event, "stream": batch.stream.value})
    for attempt, of_attempt in columns.items():
        starts = metrics.append(session, run.id, attempt=attempt, columns=of_attempt)
        news.points += [(name, starts[name], points) for name, points in of_attempt.items()]
        _note_points(run, batch.stream, attempt, of_attempt, values)
    runs.touch(session, run.id, **values)
    if mark is None:
        session.add(StreamMark(run_id=batch.run, stream=batch.stream.value, have=batch.last))
    else:
        mark.have = batch.last
    return news


def _note_points(
    run: Run, stream: Stream, attempt: int, columns: dict[str, Columns], values: dict[str, Any]
) -> None:
    newest = {name: encode_number(float(points.values[-1])) for name, points in columns.items()}
    values["latest"] = {**values.get("latest", run.latest), **newest}
    if stream is Stream.TRAINER and attempt >= values.get("attempt", run.attempt):
        step = max(int(points.steps[-1]) for points in columns.values())
        at = max(float(points.times[-1]) for points in columns.values())
        values["step"] = max(step, values.get("step", run.step))
        values["progress_at"] = max(at, values.get("progress_at", run.progress_at or 0.0))


@dataclass(frozen=True)
class _Pulse:
    """The checked part of a status message; ages in seconds."""

    attempt: int
    step: int
    phase: str
    beat_age_s: float
    progress_age_s: float

    @classmethod
    def of(cls, status: dict[str, Any]) -> _Pulse | None:
        beat = status.get("heartbeat")
        if beat is None:
            return None
        if not isinstance(beat, dict):
            raise InvalidRequest("status: heartbeat must be an object or null", field="heartbeat")
        fields = Fields({**beat, **status, "type": "status"})
        return cls(
            attempt=fields.integer("attempt", default=1, low=1),
            step=fields.integer("step", default=0),
            phase=fields.text("phase", limit=32, default=""),
            beat_age_s=max(0.0, fields.number("beat_age_s")),
            progress_age_s=max(0.0, fields.number("progress_age_s")) if fields.has("progress_age_s") else 0.0,
        )


def _store_pulse(session: Session, run_id: str, pulse: _Pulse) -> bool:
    run = runs.get_run(session, run_id)
    is_lost = RunState(run.state) is RunState.LOST
    if run.state == RunState.QUEUED or (RunState(run.state) in ENDED and not is_lost):
        return False
    if pulse.attempt < run.attempt:
        return False
    now = time.time()
    if is_lost:
        if pulse.beat_age_s > _LIVE_PULSE_S:
            return False
        runs.transition(session, run_id, new=RunState.RUNNING, reason=None)
    values: dict[str, Any] = {
        "heartbeat_at": now - pulse.beat_age_s,
        "progress_at": now - pulse.progress_age_s,
        "step": max(pulse.step, run.step),
    }
    if pulse.phase:
        values["phase"] = pulse.phase
    runs.touch(session, run_id, **values)
    return True
