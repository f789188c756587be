"""How it travels: events of one stream in batches, metrics as packed columns."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import Stream, check_event

BATCH_BYTES: Final = 256 * 1024
OUTPUT_LINE_BYTES: Final = 16 * 1024


@dataclass(slots=True)
class Block:
    """Points of several series that share steps and times, column by column."""

    attempt: int
    names: list[str]
    steps: array[int]  # typecode q
    times: array[float]  # typecode d
    values: list[array[float]]  # one typecode-d column per name

    @property
    def count(self) -> int:
        return len(self.steps)

    def to_wire(self) -> dict[str, Any]:
        """Encode as JSON-safe values: columns become base64 of their little-endian bytes."""
        return {
            "attempt": self.attempt,
            "names": self.names,
            "count": self.count,
            "steps": _pack(self.steps),
            "times": _pack(self.times),
            "values": [_pack(column) for column in self.values],
        }

    @classmethod
    def from_wire(cls, raw: Mapping[str, Any]) -> Block:
        """Decode and check one block.

        Raises:
            ProtocolError: a field is missing or a column has another length than ``count``.
        """
        try:
            attempt, names, count = raw["attempt"], raw["names"], raw["count"]
            columns = raw["values"]
            if not (isinstance(attempt, int) and attempt >= 1):
                raise ProtocolError(f"block.attempt must be a positive integer, got {attempt!r}")
            if not (isinstance(names, list) and names and all(isinstance(n, str) and n for n in names)):
                raise ProtocolError("block.names must be a list of non-empty strings")
            if not isinstance(columns, list) or len(columns) != len(names):
                raise ProtocolError("block.values must hold one column per name")
            return cls(
                attempt,
                names,
                _unpack("steps", "q", raw["steps"], count),
                _unpack("times", "d", raw["times"], count),
                [_unpack(f"values[{name}]", "d", c, count) for name, c in zip(names, columns, strict=True)],
            )
        except KeyError as exc:
            raise ProtocolError(f"block lacks the field {exc}") from exc


@dataclass(slots=True)
class Batch:
    """Consecutive events ``first..last`` of one stream of one run, metrics as columns.

    ``events`` are the sparse ones, each ``{"seq", "t", "type", "attempt", …}``;
    every seq of the range is in a block or in ``events``.
    """

    run: str
    stream: Stream
    first: int
    last: int
    blocks: list[Block] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    def to_wire(self) -> dict[str, Any]:
        """Encode as JSON-safe values."""
        return {
            "run": self.run,
            "stream": self.stream.value,
            "first": self.first,
            "last": self.last,
            "blocks": [block.to_wire() for block in self.blocks],
            "events": self.events,
        }

    @classmethod
    def from_wire(cls, raw: object) -> Batch:
        """Decode and check one batch.

        Raises:
            ProtocolError: names the field that is wrong.
        """
        if not isinstance(raw, dict):
            raise ProtocolError("a batch must be an object")
        try:
            run, first, last = raw["run"], raw["first"], raw["last"]
            stream = Stream(raw["stream"])
            blocks = [Block.from_wire(block) for block in raw["blocks"]]
            events = [check_event(event) for event in raw["events"]]
        except KeyError as exc:
            raise ProtocolError(f"batch lacks the field {exc}") from exc
        except (TypeError, ValueError) as exc:
            raise ProtocolError(f"batch: {exc}") from exc
        if not isinstance(run, str):
            raise ProtocolError("batch.run must be a string")
        if not (isinstance(first, int) and isinstance(last, int) and 1 <= first <= last):
            raise ProtocolError(f"batch.first..last must satisfy 1 <= first <= last, got {first!r}..{last!r}")
        return cls(run, stream, first, last, blocks, events)


def _pack(column: array[int] | array[float]) -> str:
    return base64.b64encode(column.tobytes()).decode("ascii")


def _unpack(name: str, typecode: str, raw: object, count: object) -> array[Any]:
    if not isinstance(raw, str):
        raise ProtocolError(f"block.{name} must be base64 text")
    column: array[Any] = array(typecode)
    try:
        column.frombytes(base64.b64decode(raw, validate=True))
    except ValueError as exc:
        raise ProtocolError(f"block.{name}: {exc}") from exc
    if len(column) != count:
        raise ProtocolError(f"block.{name} has {len(column)} entries, count is {count!r}")
    return column
