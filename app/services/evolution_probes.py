"""Probe sets kept in memory: unpacked once, not at every question.

A set never changes while it is stored, so it is kept under its hash and the
time it was stored at.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property
from typing import Any, Final

import orjson
from sqlalchemy.orm import Session

from app.store import probes

MOST_SETS: Final = 8


class Probes:
    """The fixed examples of one set, in the order of every column."""

    def __init__(self, probe_set: str, examples: list[dict[str, Any]]) -> None:
        self.probe_set = probe_set
        self.examples = examples
        self.ids = [str(example["example_id"]) for example in examples]
        self.groups = [None if (group := one.get("group")) is None else str(group) for one in examples]

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Position of each example id."""
        return {example_id: row for row, example_id in enumerate(self.ids)}

    @cached_property
    def sought_in(self) -> list[str]:
        """Id, input and expected output of each probe, for a search without regard to case."""
        return [
            f"{one['example_id']}\n{one['input']}\n{one['expected_output']}".casefold()
            for one in self.examples
        ]

    def fields(self, *, with_gold: bool) -> list[bytes]:
        """What is told of each probe whatever was answered: fields of a JSON object, ending with a comma."""
        return self._fields_with_gold if with_gold else self._fields

    @cached_property
    def _fields(self) -> list[bytes]:
        return [_fields_of(self.told(row, with_gold=False)) for row in range(len(self.ids))]

    @cached_property
    def _fields_with_gold(self) -> list[bytes]:
        return [_fields_of(self.told(row, with_gold=True)) for row in range(len(self.ids))]

    def told(self, row: int, *, with_gold: bool) -> dict[str, Any]:
        """The same fields; a retriever's have ``gold``, the ids of the right documents."""
        probe = self.examples[row]
        told = {
            "example_id": probe["example_id"],
            "index": row,
            "input": probe["input"],
            "expected_output": probe["expected_output"],
            "group": probe.get("group"),
        }
        return {**told, "gold": probe.get("gold")} if with_gold else told


def _fields_of(told: dict[str, Any]) -> bytes:
    return orjson.dumps(told)[1:-1] + b","


class ProbeShelf:
    """The probe sets that were asked about last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, float], Probes] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, session: Session, probe_set: str) -> Probes:
        """The probes of a set that is stored."""
        key = (probe_set, probes.stored_at(session, probe_set))
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        found = Probes(probe_set, probes.examples(session, probe_set))
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > MOST_SETS:
                self._kept.popitem(last=False)
        return found
