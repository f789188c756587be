"""Reads pairs of texts from JSONL, CSV and TSV, with errors that name file, line and column.

Columns: ``query`` and ``document``, optionally ``group`` and ``id``, or the
columns that are mapped to these; further ones are ignored.  UTF-8 with or
without a byte-order mark, any line ends.  The first malformed cell refuses the
file: a dataset is used whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.records import DatasetError, Tell, TextPairs
from trainer.datasets.tables import (
    ENDINGS,
    MAX_FIELD_CHARS,
    MAX_LINE_BYTES,
    ColumnMap,
    Progress,
    column_is_missing,
    folded,
    missing_in_row,
    read_rows,
    shown,
)

__all__ = [
    "ENDINGS",
    "MAX_FIELD_CHARS",
    "MAX_LINE_BYTES",
    "OPTIONAL",
    "REQUIRED",
    "Head",
    "read",
    "read_head",
]

REQUIRED: Final = ("query", "document")
OPTIONAL: Final = ("group", "id")
TITLE_CHARS: Final = 120
_MISSING: Final = frozenset({"nan", "null", "none", "n/a", "<na>"})
_EXAMPLE: Final = '{"query": "…", "document": "…"}'


@dataclass(frozen=True)
class Head:
    """The first pairs of a file, and how far they reach.

    Attributes:
        pairs: as many whole rows as were read.
        read_bytes: bytes that hold them.
        file_bytes: bytes of the whole file.
    """

    pairs: TextPairs
    read_bytes: int
    file_bytes: int

    @property
    def is_whole(self) -> bool:
        """Whether that is all there is."""
        return self.read_bytes >= self.file_bytes


def read(path: Path, tell: Tell, columns: Mapping[str, str] | None = None) -> TextPairs:
    """Read all pairs of ``path``; ``columns`` maps roles to the columns that play them.

    Without a ``group`` column every pair is a group of its own; without an
    ``id`` column a pair's id is its number, from 1.

    Raises:
        DatasetError: names file, line and column of what is wrong.
    """
    return read_head(path, tell, max_bytes=None, columns=columns).pairs


def read_head(
    path: Path, tell: Tell, *, max_bytes: int | None, columns: Mapping[str, str] | None = None
) -> Head:
    """Read the rows that begin within the first ``max_bytes`` of ``path``, checked as :func:`read` does.

    Raises:
        DatasetError: names file, line and column of what is wrong in them.
    """
    size = check_regular(path)
    progress = Progress(tell, path, size)
    mapped = ColumnMap(path, columns, roles=(*REQUIRED, *OPTIONAL))
    texts: dict[str, list[str]] = {role: [] for role in (*REQUIRED, *OPTIONAL)}
    first_line_of: dict[str, int] = {}

    def check_header(header: list[str]) -> None:
        _check_header(path, header, mapped)

    try:
        for line, cells in read_rows(path, progress, check_header=check_header, example=_EXAMPLE):
            for role, cell in _checked(path, line, cells, mapped, number=len(texts["id"]) + 1).items():
                texts[role].append(cell)
            first = first_line_of.setdefault(texts["id"][-1], line)
            if first != line:
                what = f"{shown(texts['id'][-1])} is already the id of line {first}"
                raise _wrong(path, line, mapped.called("id"), what)
            if max_bytes is not None and progress.done_bytes >= max_bytes:
                break
        else:
            size = progress.done_bytes  # it may have grown meanwhile
    except OSError as exc:
        raise unreadable(path, exc) from exc
    if not texts["id"]:
        raise DatasetError(f"{path}: holds no pair")
    return Head(_pairs(path, texts), progress.done_bytes, size)


def _pairs(path: Path, texts: dict[str, list[str]]) -> TextPairs:
    content = json.dumps(texts, sort_keys=True).encode()
    return TextPairs(
        name=path.stem,
        ids=texts["id"],
        queries=texts["query"],
        documents=texts["document"],
        titles=[_title(document) for document in texts["document"]],
        groups=texts["group"],
        content_hash=hashlib.sha256(content).hexdigest(),
    )


def _check_header(path: Path, names: list[str], mapped: ColumnMap) -> None:
    header = [folded(name) for name in names]
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    for role in (*REQUIRED, *filter(mapped.is_mapped, OPTIONAL)):
        if not mapped.key(role) or mapped.key(role) not in header:
            wanted = "query and document (optional: group, id)"
            raise column_is_missing(path, mapped.called(role), names, wanted=wanted, delimiter=delimiter)
    for role in (*REQUIRED, *OPTIONAL):
        count = header.count(mapped.key(role))
        if mapped.key(role) and count > 1:
            raise DatasetError(f"{path}, line 1: column {mapped.called(role)} is there {count} times")


def _checked(
    path: Path, line: int, cells: dict[str, Any], mapped: ColumnMap, *, number: int
) -> dict[str, str]:
    """The four cells of a row as texts, by role.

    Raises:
        DatasetError: one is missing, empty, no text, or too long.
    """
    checked = {}
    for role in REQUIRED:
        column = mapped.called(role)
        if not mapped.has(role, cells):
            raise _wrong(path, line, column, missing_in_row(role, cells))
        checked[role] = _text(path, line, column, mapped.cell(role, cells))
    for role in OPTIONAL:
        cell = mapped.cell(role, cells)
        if cell is None:  # absent, or null
            checked[role] = str(number)
        elif isinstance(cell, int) and not isinstance(cell, bool):
            checked[role] = str(cell)
        else:
            checked[role] = _text(path, line, mapped.called(role), cell)
    return checked


def _text(path: Path, line: int, column: str, cell: object) -> str:
    if not isinstance(cell, str):
        raise _wrong(path, line, column, f"must be text, got {shown(cell)}")
    text = cell.strip()
    if not text or text.lower() in _MISSING:
        raise _wrong(path, line, column, "is empty" if not text else f"is empty (it says {text})")
    if len(text) > MAX_FIELD_CHARS:
        raise _wrong(path, line, column, f"has {len(text):,} characters, {MAX_FIELD_CHARS:,} are allowed")
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise _wrong(path, line, column, "holds half of a surrogate pair, which is not text") from exc
    return text


def _wrong(path: Path, line: int, column: str, what: str) -> DatasetError:
    return DatasetError(f"{path}, line {line}, column {column}: {what}")


def _title(document: str) -> str:
    line = document.split("\n", 1)[0].strip()
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1]}…"
