"""Lines of a spool become batches: metrics as packed columns, everything else as it is.

The hot loop of a supervisor: a trainer that logs every step writes tens of
thousands of lines a second, so whole chunks are parsed by one call, grouped by
the names they share, and turned into arrays column by column.  Anything odd
leaves the fast road and is looked at line by line: a broken line must never
stop what follows it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any, Final

import orjson

from trainer.protocol.batches import BATCH_BYTES, Batch, Block
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import EventType, Stream, check_event, decode_number

_METRICS: Final = EventType.METRICS.value
NOTICE_TITLE: Final = "Lost an event"
_ENVELOPE_BYTES: Final = 512  # run, stream, first, last, and the frame around them
_EVENT_BYTES: Final = 64 * 1024  # an event larger than this is replaced by a notice


def parse(chunk: bytes, *, expected: int) -> list[dict[str, Any]]:
    """Events of ``chunk`` from seq ``expected`` on, numbered without a gap.

    Args:
        chunk: whole lines, the last one ended too.
        expected: the first seq of interest; earlier ones were delivered before.
    """
    try:
        events: list[dict[str, Any]] = orjson.loads(b"[" + chunk[:-1].replace(b"\n", b",") + b"]")
        numbers = [event["seq"] for event in events]
        if numbers == list(range(expected, expected + len(numbers))):
            return events
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass
    return _repair(chunk, expected)


def batches(events: list[dict[str, Any]], *, run: str, stream: Stream) -> list[Batch]:
    """Pack consecutive events into as few batches as fit their byte limit on the wire."""
    if not events:
        return []
    batch, num_bytes = _pack(events, run, stream)
    if num_bytes <= BATCH_BYTES or len(events) == 1:
        return [batch]
    half = len(events) // 2
    return batches(events[:half], run=run, stream=stream) + batches(events[half:], run=run, stream=stream)


def notice(seq: int, t: float, attempt: int, text: str) -> dict[str, Any]:
    """The event that stands where one could not be read or was refused."""
    return {
        "seq": seq,
        "t": t,
        "type": EventType.ALERT.value,
        "attempt": attempt,
        "level": "warning",
        "title": NOTICE_TITLE,
        "text": text,
    }


def _repair(chunk: bytes, expected: int) -> list[dict[str, Any]]:
    """The slow road: skip what is no event or came before, and say what is missing."""
    events: list[dict[str, Any]] = []
    for line in chunk.split(b"\n"):
        try:
            seq = orjson.loads(line)["seq"]
            event = _sound(orjson.loads(line))
        except (orjson.JSONDecodeError, KeyError, TypeError, ProtocolError):
            continue  # without a number nobody knows what it was; the gap it leaves is reported below
        if seq < expected:
            continue
        if seq > expected:
            missing = f"event {expected}" if seq == expected + 1 else f"events {expected} to {seq - 1}"
            text = f"{missing} of the spool cannot be read"
            events.append(notice(expected, event["t"], event["attempt"], text))
        events.append(event)
        expected = seq + 1
    return events


def _sound(raw: Any) -> dict[str, Any]:
    """``raw``, or the notice that replaces it when only its number can be trusted."""
    seq = raw["seq"]
    if not isinstance(seq, int) or isinstance(seq, bool) or seq < 1:
        raise ProtocolError(f"event.seq must be a positive integer, got {seq!r}")
    attempt = raw.get("attempt")
    known_attempt = attempt if isinstance(attempt, int) and attempt >= 1 else 1
    try:
        event = check_event(raw)
        if attempt != known_attempt:
            raise ProtocolError(f"event.attempt must be a positive integer, got {attempt!r}")
        if event["type"] == _METRICS:
            _block(known_attempt, list(event["values"]), [event])
    except (KeyError, AttributeError, ProtocolError) as exc:
        t = raw.get("t")
        known_t = float(t) if isinstance(t, (int, float)) and abs(t) < 1e12 else 0.0
        return notice(seq, known_t, known_attempt, f"event {seq} breaks the contract: {exc}")
    return event


def _pack(events: list[dict[str, Any]], run: str, stream: Stream) -> tuple[Batch, int]:
    """One batch of all ``events`` and its size on the wire in bytes."""
    first, last = events[0]["seq"], events[-1]["seq"]
    try:
        groups, sparse = _grouped(events)
        blocks = [_block(key[0], list(key[1:]), members) for key, members in groups.items()]
        checked = [check_event(event) for event in sparse]
    except (KeyError, AttributeError, TypeError, ProtocolError):
        groups, sparse = _grouped([_sound(event) for event in events])
        blocks = [_block(key[0], list(key[1:]), members) for key, members in groups.items()]
        checked = sparse
    bounded, sparse_bytes = _bounded(checked)
    num_bytes = _ENVELOPE_BYTES + sparse_bytes + sum(_wire_bytes(block) for block in blocks)
    return Batch(run, stream, first, last, blocks, bounded), num_bytes


def _grouped(
    events: Iterable[dict[str, Any]],
) -> tuple[dict[tuple[Any, ...], list[dict[str, Any]]], list[dict[str, Any]]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    sparse = []
    for event in events:
        if event["type"] == _METRICS:
            key = (event["attempt"], *event["values"])
            members = groups.get(key)
            if members is None:
                groups[key] = [event]
            else:
                members.append(event)
        else:
            sparse.append(event)
    return groups, sparse


def _block(attempt: int, names: list[str], events: list[dict[str, Any]]) -> Block:
    """Columns of metric events that share attempt and names.

    Raises:
        ProtocolError: a step, time or value is not a number, or a name is empty.
    """
    if not names or not all(names) or type(attempt) is not int or attempt < 1:
        raise ProtocolError("metrics need a positive attempt and at least one named value")
    try:
        steps = array("q", [event["step"] for event in events])
        times = array("d", [event["t"] for event in events])
        columns = zip(*[event["values"].values() for event in events], strict=True)
        return Block(attempt, names, steps, times, [_column(column) for column in columns])
    except (TypeError, OverflowError) as exc:
        raise ProtocolError(f"metrics: {exc}") from exc


def _column(raw: tuple[Any, ...]) -> array[float]:
    try:
        return array("d", raw)
    except TypeError:  # NaN and infinities are spelled as words
        return array("d", [decode_number(value) for value in raw])


def _bounded(events: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The same events with giants replaced, and the bytes they take."""
    kept, total = [], 0
    for event in events:
        num_bytes = len(orjson.dumps(event))
        if num_bytes > _EVENT_BYTES:
            text = f"an event of type {event['type']} with {num_bytes} bytes is too large to send"
            event = notice(event["seq"], event["t"], event.get("attempt", 1), text)
            num_bytes = 256
        kept.append(event)
        total += num_bytes + 1
    return kept, total


def _wire_bytes(block: Block) -> int:
    column_bytes = 4 * ((8 * block.count + 2) // 3) + 3
    return column_bytes * (2 + len(block.names)) + len(orjson.dumps(block.names)) + 80
