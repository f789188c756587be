"""Reads what a language model is to learn: conversations, instructions, completions, or plain text.

A row of JSON or JSONL is one of

- ``messages``: a list of ``{"role", "content"}`` (or ``conversations`` of ``{"from", "value"}``),
- ``instruction``, ``output`` and perhaps ``input`` and ``system``,
- ``prompt`` and ``completion``,
- ``text``,

with ``group`` and ``id`` if there are such; all rows of a file are of the kind
of its first.  A ``.txt`` file is cut at blank lines into passages.  The first
malformed row refuses the file: a dataset is used whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.kinds.conversations import KIND
from trainer.datasets.records import DatasetError, Tell
from trainer.datasets.rows import LIST, TEXT, place_of, rows_of
from trainer.datasets.tables import JSON_LINES, ColumnMap, Progress
from trainer.datasets.turns import KINDS, Place, Turn, checked_text, kind_of, turns_of

ENDINGS: Final = (*JSON_LINES, LIST, TEXT)
ROLES: Final = tuple(role.name for role in KIND.roles)
_EXAMPLE: Final = '{"prompt": "…", "completion": "…"}'

Kind = Literal["messages", "completion", "text"]


@dataclass(frozen=True)
class Conversations:
    """What a language model is trained on.

    Attributes:
        name: shown to people; also the dataset's name in the evolution pages.
        kind: ``messages`` go through a chat template, ``completion`` is a prompt and what follows it,
            ``text`` is learned from the first word to the last.
        ids: one unique id per example.
        groups: a group is never split between training and evaluation.
        turns: of each example who says what, in order; the roles of a completion are ``prompt`` and
            ``completion``, that of a text is ``text``.
        content_hash: sha256 of everything above that training sees.
    """

    name: str
    kind: Kind
    ids: list[str]
    groups: list[str]
    turns: list[tuple[Turn, ...]]
    content_hash: str

    def __len__(self) -> int:
        return len(self.ids)

    def asked(self, row: int) -> str:
        """All that comes before the last turn, as one text; of a plain text nothing."""
        return "\n".join(turn.text for turn in self.turns[row][:-1])

    def answered(self, row: int) -> str:
        """The last turn."""
        return self.turns[row][-1].text


class Head(NamedTuple):
    """The first examples of a file, and how many of its bytes hold them."""

    conversations: Conversations
    read_bytes: int
    file_bytes: int


def read(path: Path, tell: Tell, columns: Mapping[str, str] | None = None) -> Conversations:
    """Read all examples of ``path``.

    Args:
        path: a file ending in one of :data:`ENDINGS`.
        tell: hears how far the reading is.
        columns: of each role that has another name in the file, that name; an empty one: none plays it.

    Raises:
        DatasetError: names file, line and column of what is wrong.
    """
    return read_head(path, tell, columns, max_bytes=None).conversations


def read_head(
    path: Path, tell: Tell, columns: Mapping[str, str] | None = None, *, max_bytes: int | None
) -> Head:
    """Read the examples that begin within the first ``max_bytes`` of ``path``; a JSON list always whole.

    Raises:
        DatasetError: names file, line and column of what is wrong in them.
    """
    mapped = ColumnMap(path, columns, roles=ROLES)
    size = check_regular(path)
    if path.suffix.lower() not in ENDINGS:
        raise DatasetError(f"{path}: its name must end in one of {', '.join(ENDINGS)}")
    progress = Progress(tell, path, size)
    collected = _Collected(path, mapped)
    most = None if path.suffix.lower() == LIST else max_bytes
    try:
        for number, row in rows_of(path, progress, example=_EXAMPLE):
            collected.add(Place(path, place_of(path, number)), row)
            if most is not None and progress.done_bytes >= most:
                break
        else:
            size = progress.done_bytes  # it may have grown meanwhile
    except OSError as exc:
        raise unreadable(path, exc) from exc
    return Head(made(path.stem, collected.kind, collected.rows()), progress.done_bytes, size)


def made(name: str, kind: str, rows: Iterable[tuple[str, str, tuple[Turn, ...]]]) -> Conversations:
    """Examples ``(id, group, turns)`` as a dataset, with the hash of what they say.

    Raises:
        DatasetError: there are none.
    """
    found = list(rows)
    if not found:
        raise DatasetError(f"{name}: holds no example")
    digest = hashlib.sha256(kind.encode())
    for key, group, turns in found:
        row = [key, group, *(part for turn in turns for part in turn)]
        digest.update(json.dumps(row).encode())
    checked: Any = kind
    ids, groups, all_turns = [row[0] for row in found], [row[1] for row in found], [row[2] for row in found]
    return Conversations(name, checked, ids, groups, all_turns, digest.hexdigest())


class _Collected:
    """Rows that were sound so far."""

    def __init__(self, path: Path, mapped: ColumnMap) -> None:
        self.kind = ""
        self._path, self._mapped = path, mapped
        self._rows: list[tuple[str, str, tuple[Turn, ...]]] = []
        self._place_of: dict[str, Place] = {}
        self._shape = ""

    def add(self, place: Place, row: Mapping[str, Any]) -> None:
        """Check a row and keep it."""
        mapped = self._mapped
        shape = self._shape or kind_of(place, row, mapped)
        self._shape, self.kind = shape, KINDS[shape]
        turns = turns_of(place, row, mapped, shape=shape)
        number = str(len(self._rows) + 1)
        key = _label(place, row, mapped, "id", default=number)
        if key in self._place_of:
            raise place.wrong(
                f"{key!r} is already the id of {self._place_of[key].where}", column=mapped.called("id")
            )
        self._place_of[key] = place
        self._rows.append((key, _label(place, row, mapped, "group", default=number), turns))

    def rows(self) -> list[tuple[str, str, tuple[Turn, ...]]]:
        """All of them.

        Raises:
            DatasetError: there are none.
        """
        if not self._rows:
            raise DatasetError(f"{self._path}: holds no example")
        return self._rows


def _label(place: Place, row: Mapping[str, Any], mapped: ColumnMap, role: str, *, default: str) -> str:
    value = mapped.cell(role, row)
    if value is None or value == "":
        return default
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise place.wrong("must be text or a whole number", column=mapped.called(role))
    return checked_text(place, str(value), mapped.called(role))
