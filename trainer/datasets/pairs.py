"""Reads pairs of texts from JSONL, CSV and TSV, with errors that name file, line and column.

Columns: ``query`` and ``document``, optionally ``group`` and ``id``; further
ones are ignored.  UTF-8 with or without a byte-order mark, any line ends.
The first malformed cell refuses the file: a dataset is used whole or not at all.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.records import DatasetError, Tell, TextPairs

ENDINGS: Final = (".jsonl", ".ndjson", ".csv", ".tsv")
REQUIRED: Final = ("query", "document")
OPTIONAL: Final = ("group", "id")
MAX_FIELD_CHARS: Final = 1_000_000
MAX_LINE_BYTES: Final = 16_000_000
TITLE_CHARS: Final = 120
_TELL_EVERY: Final = 5000
_MISSING: Final = frozenset({"nan", "null", "none", "n/a", "<na>"})

Row = tuple[int, dict[str, Any]]  # number of the row's last line in the file, and its cells


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


def read(path: Path, tell: Tell) -> TextPairs:
    """Read all pairs of ``path``.

    Without a ``group`` column every pair is a group of its own; without an
    ``id`` column a pair's id is its number, from 1.

    Raises:
        DatasetError: names file, line and column of what is wrong.
    """
    return read_head(path, tell, max_bytes=None).pairs


def read_head(path: Path, tell: Tell, *, max_bytes: int | None) -> Head:
    """Read the rows that begin within the first ``max_bytes`` of ``path``, checked as :func:`read` does.

    Raises:
        DatasetError: names file, line and column of what is wrong in them.
    """
    size = check_regular(path)
    progress = _Progress(tell, path, size)
    columns: dict[str, list[str]] = {name: [] for name in (*REQUIRED, *OPTIONAL)}
    first_line_of: dict[str, int] = {}
    try:
        for line, cells in _rows(path, progress):
            for name, cell in _checked(path, line, cells, number=len(columns["id"]) + 1).items():
                columns[name].append(cell)
            first = first_line_of.setdefault(columns["id"][-1], line)
            if first != line:
                raise _wrong(
                    path, line, "id", f"{_shown(columns['id'][-1])} is already the id of line {first}"
                )
            if max_bytes is not None and progress.done_bytes >= max_bytes:
                break
        else:
            size = progress.done_bytes  # it may have grown meanwhile
    except OSError as exc:
        raise unreadable(path, exc) from exc
    if not columns["id"]:
        raise DatasetError(f"{path}: holds no pair")
    content = json.dumps(columns, sort_keys=True).encode()
    pairs = TextPairs(
        name=path.stem,
        ids=columns["id"],
        queries=columns["query"],
        documents=columns["document"],
        titles=[_title(document) for document in columns["document"]],
        groups=columns["group"],
        content_hash=hashlib.sha256(content).hexdigest(),
    )
    return Head(pairs, progress.done_bytes, size)


class _Progress:
    """Counts bytes and tells now and then."""

    def __init__(self, tell: Tell, path: Path, size: int) -> None:
        self._tell, self._path, self._size = tell, path, size
        self.done_bytes = self._lines = 0

    def line(self, num_bytes: int) -> None:
        self.done_bytes += num_bytes
        self._lines += 1
        if self._lines % _TELL_EVERY == 0:
            self._tell(f"reading {self._path.name}", min(1.0, self.done_bytes / self._size))


def _rows(path: Path, progress: _Progress) -> Iterator[Row]:
    lines = _lines(path, progress)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return _json_rows(path, lines)
    return _table_rows(path, lines, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")


def _lines(path: Path, progress: _Progress) -> Iterator[str]:
    """The lines as text with their ends, without the byte-order mark."""
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise DatasetError(f"{path}, line {number}: is longer than {MAX_LINE_BYTES:,} bytes")
            progress.line(len(raw))
            if number == 1:
                if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise DatasetError(f"{path}: is UTF-16 text; save it as UTF-8")
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError as exc:
                raise DatasetError(
                    f"{path}, line {number}: byte {exc.start + 1} of the line (0x{raw[exc.start]:02x}) is "
                    "not UTF-8; save the file as UTF-8"
                ) from exc


def _json_rows(path: Path, lines: Iterator[str]) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            cells = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise DatasetError(f"{path}, line {number}: is not JSON ({exc})") from exc
        if not isinstance(cells, dict):
            raise DatasetError(
                f'{path}, line {number}: must be an object like {{"query": "…", "document": "…"}}, '
                f"got {_shown(cells)}"
            )
        yield number, cells


def _table_rows(path: Path, lines: Iterator[str], *, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(MAX_FIELD_CHARS)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        _check_header(path, header, delimiter)
        for cells in reader:
            if not any(cells):
                continue
            if len(cells) != len(header):
                raise DatasetError(
                    f"{path}, line {reader.line_num}: has {len(cells)} cells, the header has {len(header)}; "
                    "is a quote missing around a cell?"
                )
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as exc:
        raise DatasetError(f"{path}, line {reader.line_num}: {exc}; is a quote left open?") from exc


def _check_header(path: Path, header: list[str], delimiter: str) -> None:
    named = ", ".join(_shown(name) for name in header) or "none"
    separator = "tabs" if delimiter == "\t" else "commas"
    for name in REQUIRED:
        if name not in header:
            raise DatasetError(
                f"{path}, line 1: column {name} is missing; the first line must name the columns query and "
                f"document (optional: group, id), separated by {separator}; it names {named}"
            )
    for name in (*REQUIRED, *OPTIONAL):
        if header.count(name) > 1:
            raise DatasetError(f"{path}, line 1: column {name} is there {header.count(name)} times")


def _checked(path: Path, line: int, cells: dict[str, Any], *, number: int) -> dict[str, str]:
    """The four cells of a row as texts.

    Raises:
        DatasetError: one is missing, empty, no text, or too long.
    """
    checked = {name: _text(path, line, name, cells.get(name), present=name in cells) for name in REQUIRED}
    for name in OPTIONAL:
        cell = cells.get(name)
        if cell is None:  # absent, or null
            checked[name] = str(number)
        elif isinstance(cell, int) and not isinstance(cell, bool):
            checked[name] = str(cell)
        else:
            checked[name] = _text(path, line, name, cell, present=True)
    return checked


def _text(path: Path, line: int, column: str, cell: object, *, present: bool) -> str:
    if not present:
        raise _wrong(path, line, column, "is missing")
    if not isinstance(cell, str):
        raise _wrong(path, line, column, f"must be text, got {_shown(cell)}")
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


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _title(document: str) -> str:
    line = document.split("\n", 1)[0].strip()
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1]}…"
