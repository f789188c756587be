"""What watching browsers are told, after the commit, at most ten times a second and run.

Writers only leave a note here; one thread turns notes into messages.  The
first note after a pause goes out at once, the following ones together.  For a
room without watchers nothing is kept and nothing is computed.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from app.store.chunk_codec import Columns
from trainer.protocol.events import EventType

PUSH_EVERY_S: Final = 0.1
MAX_POINTS: Final = 200  # per series and push; with more the browser refetches, downsampled
MAX_OUTPUT_BYTES: Final = 64 * 1024  # per push; with more it gets the tail
MAX_EVENTS: Final = 100  # sparse events per push and run
RUNS_ROOM: Final = "runs"

Emit = Callable[[str, dict[str, Any], list[str]], None]
logger: Final = logging.getLogger("signalbox.live")


def run_room(run_id: str) -> str:
    """The room of everybody watching one run."""
    return f"run:{run_id}"


def evolution_room(dataset: str) -> str:
    """The room of everybody watching the snapshots of one dataset."""
    return f"evolution:{dataset}"


@dataclass(slots=True)
class _Series:
    start: int
    steps: list[int]
    times: list[float]
    values: list[float | None]
    total_points: int


@dataclass(slots=True)
class _Output:
    offset: int
    text: bytes


@dataclass(slots=True)
class _Pending:
    """What one run's watchers have not been told yet."""

    last_push: float = -math.inf
    changed: bool = False
    series: dict[str, _Series] = field(default_factory=dict)
    output: dict[int, _Output] = field(default_factory=dict)  # by attempt
    messages: list[tuple[str, dict[str, Any], list[str]]] = field(default_factory=list)

    def is_empty(self) -> bool:
        return not (self.changed or self.series or self.output or self.messages)


class LiveFeed:
    """Coalesces what happened and pushes it to the rooms that are watched.

    Args:
        emit: sends one message, ``emit(event, payload, rooms)``; called on the feed's own thread.
        load_run: the JSON of a run for the browser, or None when it is gone.
    """

    def __init__(self, *, emit: Emit, load_run: Callable[[str], dict[str, Any] | None]) -> None:
        self._emit = emit
        self._load_run = load_run
        self._watchers: Counter[str] = Counter()
        self._pending: dict[str, _Pending] = {}
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    def start(self) -> None:
        """Start the pushing thread."""
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="live-feed", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Push what is left and stop the thread."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def watch(self, room: str) -> None:
        """Somebody has begun to watch ``room``."""
        with self._wake:
            self._watchers[room] += 1

    def unwatch(self, room: str) -> None:
        """Somebody has stopped watching ``room``."""
        with self._wake:
            self._watchers[room] -= 1
            if self._watchers[room] <= 0:
                del self._watchers[room]

    def run_changed(self, run_id: str) -> None:
        """Something in the run's row changed."""
        with self._wake:
            if self._watched(RUNS_ROOM, run_room(run_id)):
                self._note(run_id).changed = True

    def points(self, run_id: str, name: str, start: int, points: Columns) -> None:
        """Points ``start, start + 1, …`` of one series were stored. Non-finite values become null."""
        with self._wake:
            if not self._watched(run_room(run_id)) or not len(points):
                return
            pending = self._note(run_id)
            known = pending.series.get(name)
            total = start + len(points)
            if known is not None and start == known.total_points:
                known.total_points = total
            else:  # the first note, or a hole: the browser sees it by ``start`` and refetches
                known = pending.series[name] = _Series(start, [], [], [], total)
            if len(known.steps) + len(points) > MAX_POINTS:
                known.steps, known.times, known.values = [], [], []
                known.start = -1  # too many to push: only the total is told
            if known.start >= 0:
                known.steps.extend(points.steps.tolist())
                known.times.extend(points.times.tolist())
                known.values.extend(
                    value if math.isfinite(value) else None for value in points.values.tolist()
                )

    def output(self, run_id: str, attempt: int, offset: int, text: bytes) -> None:
        """Output bytes from ``offset`` of one attempt were stored."""
        with self._wake:
            if not self._watched(run_room(run_id)) or not text:
                return
            pending = self._note(run_id)
            known = pending.output.get(attempt)
            if known is not None and known.offset + len(known.text) == offset:
                known.text += text
            else:
                known = pending.output[attempt] = _Output(offset, text)
            surplus = len(known.text) - MAX_OUTPUT_BYTES
            if surplus > 0:
                known.offset, known.text = known.offset + surplus, known.text[surplus:]

    def event(self, run_id: str, event: dict[str, Any]) -> None:
        """A sparse event was stored."""
        with self._wake:
            # alerts also go to whoever watches all runs: every page may notify of them
            rooms = [run_room(run_id), *([RUNS_ROOM] if event["type"] == EventType.ALERT else [])]
            if self._watched(*rooms):
                messages = self._note(run_id).messages
                if len(messages) < MAX_EVENTS:
                    messages.append(("event", {"run": run_id, **event}, rooms))

    def snapshot(self, run_id: str, dataset: str, step: int, summary: dict[str, Any]) -> None:
        """A snapshot was stored."""
        payload = {"run": run_id, "dataset": dataset, "step": step, "summary": summary}
        self._message(run_id, "snapshot", payload, [run_room(run_id), evolution_room(dataset)])

    def deleted(self, run_id: str) -> None:
        """The run is gone."""
        self._message(run_id, "deleted", {"run": run_id}, [RUNS_ROOM, run_room(run_id)])

    def _message(self, run_id: str, name: str, payload: dict[str, Any], rooms: list[str]) -> None:
        with self._wake:
            if self._watched(*rooms):
                self._note(run_id).messages.append((name, payload, rooms))

    def _watched(self, *rooms: str) -> bool:
        return any(room in self._watchers for room in rooms)

    def _note(self, run_id: str) -> _Pending:
        pending = self._pending.get(run_id)
        if pending is None:
            pending = self._pending[run_id] = _Pending()
        if pending.is_empty():
            self._wake.notify()
        return pending

    def _run(self) -> None:
        while True:
            with self._wake:
                due = self._take_due()
                while not due and not self._closing:
                    self._wake.wait(self._sleep_s())
                    due = self._take_due()
                if not due and self._closing:
                    return
            for run_id, pending in due:
                try:
                    self._push(run_id, pending)
                except Exception:  # one bad message must not end the feed
                    logger.exception("could not push news of run %s", run_id)

    def _take_due(self) -> list[tuple[str, _Pending]]:
        now = time.monotonic()
        due = []
        for run_id, pending in list(self._pending.items()):
            age = now - pending.last_push
            if pending.is_empty():
                if age > 60:
                    del self._pending[run_id]  # quiet for a minute: forget it
            elif age >= PUSH_EVERY_S or self._closing:
                self._pending[run_id] = _Pending(last_push=now)
                due.append((run_id, pending))
        return due

    def _sleep_s(self) -> float | None:
        waiting = [pending.last_push for pending in self._pending.values() if not pending.is_empty()]
        if not waiting:
            return None
        return max(0.0, min(waiting) + PUSH_EVERY_S - time.monotonic())

    def _push(self, run_id: str, pending: _Pending) -> None:
        room = [run_room(run_id)]
        if pending.series:
            self._emit("points", {"run": run_id, "series": _series_json(pending.series)}, room)
        for attempt, piece in pending.output.items():
            self._emit("output", _output_json(run_id, attempt, piece), room)
        for name, payload, rooms in pending.messages:
            self._emit(name, payload, rooms)
        if pending.changed:
            run = self._load_run(run_id)
            if run is not None:
                self._emit("run", run, [RUNS_ROOM, *room])


def _series_json(series: dict[str, _Series]) -> list[dict[str, Any]]:
    return [
        {"name": name, "total_points": one.total_points}
        if one.start < 0
        else {"name": name, "start": one.start, "steps": one.steps, "times": one.times, "values": one.values}
        for name, one in series.items()
    ]


def _output_json(run_id: str, attempt: int, piece: _Output) -> dict[str, Any]:
    return {
        "run": run_id,
        "attempt": attempt,
        "offset": piece.offset,
        "num_bytes": len(piece.text),
        "text": piece.text.decode("utf-8", "replace"),
    }
