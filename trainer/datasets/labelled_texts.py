"""Reads texts with labels from JSONL, CSV and TSV, with errors that name file, line and column.

Columns: ``text`` and ``label``, optionally ``group`` and ``id``; further ones
are ignored, and other names can be given for these.  The first malformed cell
refuses the file: a dataset is used whole or not at all.

Shape suffixes: N texts.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trainer.datasets import tables
from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.records import DatasetError, Tell
from trainer.datasets.tables import (
    MAX_FIELD_CHARS,
    ColumnMap,
    Progress,
    missing_in_row,
    read_rows,
    shown,
)

ENDINGS: Final = tables.ENDINGS
REQUIRED: Final = ("text", "label")
OPTIONAL: Final = ("group", "id")
MAX_LABEL_CHARS: Final = 200
MAX_LABELS: Final = 1000
_EXAMPLE: Final = '{"text": "…", "label": "…"}'
_MISSING: Final = frozenset({"nan", "<na>"})  # what tables write for an empty cell; "none" may be a label


@dataclass(frozen=True)
class LabelledTexts:
    """Texts and what each of them is.

    Attributes:
        name: shown to people; also the dataset's name in the evolution pages.
        ids: one unique id per text.
        texts: what is read.
        labels: what it is, one of at least two labels.
        groups: texts of one group are on one side of the split.
        places: where each text stands, for messages, e.g. ``reviews.csv, line 7``; empty where nowhere.
        content_hash: of everything above but the places.
    """

    name: str
    ids: Sequence[str]
    texts: Sequence[str]
    labels: Sequence[str]
    groups: Sequence[str]
    places: Sequence[str]
    content_hash: str

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def file_name(self) -> str:
        """The file they come from, for messages; the dataset's name where there is none."""
        return self.places[0].rpartition(", line ")[0] or self.name if self.places else self.name

    def names(self) -> list[str]:
        """The distinct labels: in the order of their numbers where all are whole numbers, else by name."""
        found = set(self.labels)
        if all(label.isascii() and label.isdigit() for label in found):
            return sorted(found, key=lambda label: (int(label), label))
        return sorted(found)

    def numbers_N(self) -> NDArray[np.int64]:
        """For each text the place of its label among :meth:`names`."""
        place = {label: number for number, label in enumerate(self.names())}
        return np.array([place[label] for label in self.labels], dtype=np.int64)


@dataclass(frozen=True)
class Head:
    """The first texts of a file, and how far they reach, in bytes."""

    texts: LabelledTexts
    read_bytes: int
    file_bytes: int

    @property
    def is_whole(self) -> bool:
        """Whether that is all there is."""
        return self.read_bytes >= self.file_bytes


def read(path: Path, tell: Tell, columns: Mapping[str, str] | None = None) -> LabelledTexts:
    """Read all texts of ``path``.

    Without a ``group`` column every text is a group of its own; without an
    ``id`` column its id is its number, from 1.

    Args:
        columns: from text, label, group or id to the column of the file that holds it; an empty name means
            that none does.

    Raises:
        DatasetError: names file, line and column of what is wrong, or says that there is only one label.
    """
    found = read_head(path, tell, max_bytes=None, columns=columns).texts
    check_labels(found)
    return found


def read_head(
    path: Path, tell: Tell, *, max_bytes: int | None, columns: Mapping[str, str] | None = None
) -> Head:
    """Read the rows that begin within the first ``max_bytes`` of ``path``, each checked as :func:`read` does.

    Raises:
        DatasetError: names file, line and column of what is wrong in them.
    """
    size = check_regular(path)

    def check_header(header: Sequence[str]) -> None:
        _check_header(path, [name.strip() for name in header])

    reading = Progress(tell, path, size)
    mapped = ColumnMap(path, columns, roles=(*REQUIRED, *OPTIONAL))
    cells_of: dict[str, list[str]] = {role: [] for role in (*REQUIRED, *OPTIONAL)}
    lines: list[int] = []
    first_line_of: dict[str, int] = {}
    try:
        for line, cells in read_rows(path, reading, check_header=check_header, example=_EXAMPLE):
            row = _Row(path, line, cells, mapped, number=len(lines) + 1)
            for role, cell in row.checked().items():
                cells_of[role].append(cell)
            lines.append(line)
            first = first_line_of.setdefault(cells_of["id"][-1], line)
            if first != line:
                raise row.wrong("id", f"{shown(cells_of['id'][-1])} is already the id of line {first}")
            if max_bytes is not None and reading.done_bytes >= max_bytes:
                break
        else:
            size = reading.done_bytes  # it may have grown meanwhile
    except OSError as exc:
        raise unreadable(path, exc) from exc
    if not lines:
        raise DatasetError(f"{path}: holds no text; a row needs a text and a label")
    return Head(_texts(path.stem, path.name, cells_of, lines), reading.done_bytes, size)


def check_labels(found: LabelledTexts) -> None:
    """Whether there is something to tell apart.

    Raises:
        DatasetError: there is one label only, or so many that they are hardly labels.
    """
    counts = Counter(found.labels)
    if len(counts) < 2:
        raise DatasetError(
            f"{found.file_name}: all {len(found):,} rows have the label {shown(next(iter(counts)))}; at "
            "least two labels are needed. Look whether label is the right column, and the aliases leave two"
        )
    if len(counts) > MAX_LABELS:
        raise DatasetError(
            f"{found.file_name}: has {len(counts):,} labels, {MAX_LABELS:,} are allowed; is it the right "
            "column?"
        )


def with_aliases(found: LabelledTexts, aliases: Mapping[str, str]) -> LabelledTexts:
    """The same texts with labels that are written in several ways made one.

    Raises:
        DatasetError: an alias is not among the labels, or one label is left.
    """
    if not aliases:
        return found
    there = set(found.labels)
    for written in aliases:
        if written not in there:
            few = ", ".join(shown(one) for one in sorted(there)[:8])
            raise DatasetError(
                f"{found.file_name}: label_aliases names {written!r}, which is no label; there are {few}"
                f"{' and more' if len(there) > 8 else ''}"
            )
    labels = [aliases.get(label, label) for label in found.labels]
    changed = replace(
        found,
        labels=labels,
        content_hash=_hash({"id": found.ids, "text": found.texts, "label": labels, "group": found.groups}),
    )
    check_labels(changed)
    return changed


def _texts(name: str, file_name: str, cells: Mapping[str, list[str]], lines: Sequence[int]) -> LabelledTexts:
    return LabelledTexts(
        name=name,
        ids=cells["id"],
        texts=cells["text"],
        labels=cells["label"],
        groups=cells["group"],
        places=[f"{file_name}, line {line}" for line in lines],
        content_hash=_hash(cells),
    )


def _hash(cells: Mapping[str, Sequence[str]]) -> str:
    return hashlib.sha256(json.dumps(dict(cells), sort_keys=True).encode()).hexdigest()


def _check_header(path: Path, header: Sequence[str]) -> None:
    if not any(header):
        raise DatasetError(f"{path}, line 1: names no columns; the first line must be the header")
    for name in header:
        if header.count(name) > 1:
            raise DatasetError(f"{path}, line 1: column {name or '(without a name)'} is there more than once")


class _Row:
    """One row, asked for its cells by what they mean."""

    def __init__(
        self, path: Path, line: int, cells: dict[str, Any], mapped: ColumnMap, *, number: int
    ) -> None:
        self._path, self._line, self._cells, self._mapped = path, line, cells, mapped
        self._number = number

    def checked(self) -> dict[str, str]:
        """Text, label, group and id.

        Raises:
            DatasetError: one is missing, empty, no text, or too long.
        """
        found = {"text": self._text("text", self._cell("text"), most=MAX_FIELD_CHARS)}
        found["label"] = self._text("label", _as_text(self._cell("label")), most=MAX_LABEL_CHARS)
        for role in OPTIONAL:
            cell = _as_text(self._mapped.cell(role, self._cells))
            found[role] = (
                str(self._number) if cell is None else self._text(role, cell, most=MAX_LABEL_CHARS * 10)
            )
        return found

    def wrong(self, role: str, what: str) -> DatasetError:
        """The error for the cell that means ``role``."""
        return DatasetError(f"{self._path}, line {self._line}, column {self._mapped.called(role)}: {what}")

    def _cell(self, role: str) -> object:
        if not self._mapped.has(role, self._cells):
            raise self.wrong(role, missing_in_row(role, self._cells))
        return self._mapped.cell(role, self._cells)

    def _text(self, role: str, cell: object, *, most: int) -> str:
        if not isinstance(cell, str):
            raise self.wrong(role, "is empty" if cell is None else f"must be text, got {shown(cell)}")
        text = cell.strip()
        if not text or text.lower() in _MISSING:
            said = f" (it says {text})" if text else ""
            raise self.wrong(role, f"is empty{said}; fill it or remove the row")
        if len(text) > most:
            raise self.wrong(role, f"has {len(text):,} characters, {most:,} are allowed")
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise self.wrong(role, "holds half of a surrogate pair, which is not text") from exc
        return text


def _as_text(cell: object) -> object:
    """Whole numbers and truth values, which JSON writes without quotes, as texts."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(cell) if isinstance(cell, int) else cell
