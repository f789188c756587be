"""Probe sets kept in memory: unpacked once, not at every question.

A set never changes while it is stored, so it is kept under its hash and the
time it was stored at.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, Final

from sqlalchemy.orm import Session

from app.store import probes

MOST_SETS: Final = 8
_MOST_CHARACTERS: Final = 32 * 1024 * 1024  # of documents, per set

Documents = Mapping[str, tuple[str, str]]  # id -> title, text


class Probes:
    """The fixed examples of one set, in the order of every column."""

    def __init__(self, probe_set: str, examples: list[dict[str, Any]]) -> None:
        self.probe_set = probe_set
        self.examples = examples
        self.ids = [str(example["example_id"]) for example in examples]
        self.groups = [None if (group := one.get("group")) is None else str(group) for one in examples]
        self._documents: dict[str, tuple[str, str]] = {}
        self._characters = 0

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

    def documents(self, session: Session, ids: Collection[str]) -> Documents:
        """``{id: (title, text)}``, at least those of ``ids`` that are known."""
        kept = self._documents
        missing = [document_id for document_id in ids if document_id not in kept]
        if missing:
            found = probes.documents(session, self.probe_set, missing)
            self._characters += sum(len(title) + len(text) for title, text in found.values())
            if self._characters > _MOST_CHARACTERS:
                kept = self._documents = {name: kept[name] for name in ids if name in kept}
                self._characters = sum(len(title) + len(text) for title, text in kept.values())
            kept.update(found)
        return kept


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
