"""What of a batch may enter the store: every refusal names the place and the limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import numpy as np
import orjson

from app.errors import InvalidRequest
from app.store.chunk_codec import Columns, join
from trainer.protocol.batches import Batch, Block

MAX_NAME: Final = 200  # characters of a metric's or a file's name
MAX_TEXT: Final = 4_000  # characters of a reason
MAX_EVENT_BYTES: Final = 256 * 1024
MAX_STEP: Final = 2**53  # whole numbers a browser holds exactly
MAX_TIME: Final = 2.0**33  # Unix seconds, in the year 2242


class Fields:
    """The fields of one event, each fetched with its type and limit.

    Every getter raises InvalidRequest naming event, type and field.
    """

    def __init__(self, event: Mapping[str, Any]) -> None:
        self._event = event

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._event.get(name) is not None

    def text(self, name: str, *, limit: int, default: str | None = None) -> str:
        """A string of at most ``limit`` characters that UTF-8 can carry."""
        raw = self._event.get(name, default)
        if not isinstance(raw, str):
            self._refuse(name, f"must be text, got {raw!r:.80}")
        if len(raw) > limit:
            self._refuse(name, f"has {len(raw)} characters, the limit is {limit}")
        if not _is_encodable(raw):
            self._refuse(name, "holds half of a surrogate pair")
        return raw

    def integer(self, name: str, *, default: int | None = None, low: int = 0, high: int = MAX_STEP) -> int:
        """A whole number within ``low..high``."""
        raw = self._event.get(name)
        raw = default if raw is None else raw
        if not isinstance(raw, int) or isinstance(raw, bool) or not low <= raw <= high:
            self._refuse(name, f"must be a whole number from {low} to {high}, got {raw!r:.80}")
        return raw

    def number(self, name: str) -> float:
        """A finite number."""
        raw = self._event.get(name)
        if not isinstance(raw, (int, float)) or isinstance(raw, bool) or not math.isfinite(raw):
            self._refuse(name, f"must be a finite number, got {raw!r:.80}")
        return float(raw)

    def items(self, name: str) -> list[Any]:
        """A list; empty where the field is missing."""
        raw = self._event.get(name) or []
        if not isinstance(raw, list):
            self._refuse(name, "must be a list")
        return raw

    def mapping(self, name: str) -> dict[str, Any]:
        """An object; empty where the field is missing."""
        raw = self._event.get(name) or {}
        if not isinstance(raw, dict):
            self._refuse(name, "must be an object")
        return raw

    def _refuse(self, name: str, why: str) -> NoReturn:
        place = f"event {self._event.get('seq')} ({self._event.get('type')})"
        raise InvalidRequest(f"{place}: {name} {why}", field=name)


def check_events(batch: Batch) -> None:
    """Check numbering and size of the sparse events.

    Raises:
        InvalidRequest: names the event that is wrong.
    """
    previous = batch.first - 1
    for event in batch.events:
        fields = Fields(event)
        previous = fields.integer("seq", low=previous + 1, high=batch.last)
        fields.integer("attempt", default=1, low=1)
        if not 0 <= fields.number("t") <= MAX_TIME:
            raise InvalidRequest(f"event {previous}: t {event['t']} is no Unix time", field="t")
        try:
            num_bytes = len(orjson.dumps(event))
        except orjson.JSONEncodeError as exc:
            raise InvalidRequest(f"event {previous}: {exc}", field="events") from exc
        if num_bytes > MAX_EVENT_BYTES:
            raise InvalidRequest(f"event {previous} has {num_bytes} bytes, the limit is {MAX_EVENT_BYTES}")


def columns_of(batch: Batch) -> dict[int, dict[str, Columns]]:
    """The points of a batch per attempt and series, in order of steps.

    A series may lie in several blocks (blocks group points by the names they share), so its parts are
    put in order again; points of one step keep theirs.

    Raises:
        InvalidRequest: a name, step or time is out of bounds; names block and column.
    """
    parts: dict[int, dict[str, list[Columns]]] = {}
    for index, block in enumerate(batch.blocks):
        if block.count == 0:
            continue
        steps, times = _axes(index, block)
        of_attempt = parts.setdefault(block.attempt, {})
        for name, values in zip(block.names, block.values, strict=True):
            _check_name(index, name)
            column = np.frombuffer(values, np.float64)
            of_attempt.setdefault(name, []).append(Columns(steps, times, column))
    return {
        attempt: {name: _in_order(pieces) for name, pieces in of_attempt.items()}
        for attempt, of_attempt in parts.items()
    }


def _axes(index: int, block: Block) -> tuple[Any, Any]:
    steps = np.frombuffer(block.steps, np.int64)
    times = np.frombuffer(block.times, np.float64)
    if steps.min() < 0 or steps.max() > MAX_STEP:
        raise InvalidRequest(f"block {index}: steps must lie within 0..2**53", field="steps")
    if not np.isfinite(times).all() or times.min() < 0 or times.max() > MAX_TIME:
        raise InvalidRequest(f"block {index}: times must be Unix seconds", field="times")
    return steps, times


def _check_name(index: int, name: str) -> None:
    if len(name) > MAX_NAME:
        raise InvalidRequest(
            f"block {index}: the metric name {name[:40]!r}... has {len(name)} characters, "
            f"the limit is {MAX_NAME}",
            field="names",
        )
    if not _is_encodable(name) or not name.isprintable():
        raise InvalidRequest(f"block {index}: the metric name {name!r} is not printable", field="names")


def _in_order(pieces: list[Columns]) -> Columns:
    points = join(pieces)
    if len(pieces) > 1 and bool((np.diff(points.steps) < 0).any()):
        return points.take(np.argsort(points.steps, kind="stable"))
    return points


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
