"""Rows of CSV, TSV and JSON lines, read within bounds, and which column plays which role.

UTF-8 with or without a byte-order mark, any line ends.  No line is read beyond
``MAX_LINE_BYTES`` and no cell beyond ``MAX_FIELD_CHARS``, so a file that never
ends a line costs nothing.  Names of a table's columns are compared without
case and outer spaces; keys of JSON objects exactly.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from trainer.datasets.records import DatasetError, Tell

ENDINGS: Final = (".jsonl", ".ndjson", ".csv", ".tsv")
JSON_LINES: Final = (".jsonl", ".ndjson")
MAX_FIELD_CHARS: Final = 1_000_000
MAX_LINE_BYTES: Final = 16_000_000
MAX_COLUMNS: Final = 2_000
SHOWN_CHARACTERS: Final = 60
_TELL_EVERY: Final = 5000

Row = tuple[int, dict[str, Any]]  # number of the row's last line in the file, and its cells
CheckHeader = Callable[[list[str]], None]


class Progress:
    """Counts bytes and lines of one file, and tells now and then."""

    def __init__(self, tell: Tell, path: Path, size: int) -> None:
        self._tell, self._path, self._size = tell, path, size
        self.done_bytes = self._lines = 0

    def line(self, num_bytes: int) -> None:
        """A line of so many bytes has been read."""
        self.done_bytes += num_bytes
        self._lines += 1
        if self._lines % _TELL_EVERY == 0:
            self._tell(f"reading {self._path.name}", min(1.0, self.done_bytes / self._size))


class ColumnMap:
    """Which key of a row holds what training calls by the name of a role."""

    def __init__(self, path: Path, columns: Mapping[str, str] | None, *, roles: Iterable[str]) -> None:
        """Args:
            path: the file, for messages and its ending.
            columns: role -> column; a role that is missing is played by the column of its own name, one
                that maps to an empty name by none.
            roles: all that there are.

        Raises:
            DatasetError: ``columns`` names a role that there is not, or one column for two roles.
        """
        self._is_exact = path.suffix.lower() in (*JSON_LINES, ".json")
        self._columns = dict(columns or {})
        known = tuple(roles)
        for role in self._columns:
            if role not in known:
                raise DatasetError(
                    f"{path}: no column can play the role {shown(role)}; roles are {', '.join(known)}"
                )
        taken: dict[str, str] = {}
        for role in filter(self.key, self._columns):
            other = taken.setdefault(self.key(role), role)
            if other != role:
                raise DatasetError(
                    f"{path}: column {self._columns[role]} cannot be both {other} and {role}; choose two"
                )

    def is_mapped(self, role: str) -> bool:
        """Whether somebody has chosen the column of this role."""
        return bool(self._columns.get(role))

    def has(self, role: str, cells: Mapping[str, Any]) -> bool:
        """Whether a row has a cell for a role, be it null."""
        key = self.key(role)
        return key != "" and key in cells

    def cell(self, role: str, cells: Mapping[str, Any]) -> object:
        """What a row holds for a role; None where no column plays it, the row lacks it, or it is null."""
        key = self.key(role)
        return cells.get(key) if key else None

    def key(self, role: str) -> str:
        """The key under which a row holds it; empty when the role is played by no column."""
        name = self._columns.get(role, role)
        return name if self._is_exact else folded(name)

    def called(self, role: str) -> str:
        """The column in words: its name in the file, with its role where that is another word."""
        name = self._columns.get(role, role)
        return f"{name} ({role})" if name not in (role, "") else role


def folded(name: str) -> str:
    """A column's name as it is compared."""
    return name.strip().lower()


def shown(value: object) -> str:
    """A value in a message: as Python writes it, cut short."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


def read_rows(
    path: Path, progress: Progress, *, check_header: CheckHeader | None = None, example: str = "{…}"
) -> Iterator[Row]:
    """The rows of ``path``, by its ending.

    Args:
        path: a regular file ending in one of ``ENDINGS``.
        progress: told of every line.
        check_header: given the names of a table's columns as they are written; raises what is wrong.
        example: an object as JSON lines should hold, for messages.

    Raises:
        DatasetError: names file and line of what is no row; ``OSError`` passes.
    """
    lines = read_lines(path, progress)
    ending = path.suffix.lower()
    if ending in JSON_LINES:
        return _json_rows(path, lines, example)
    return _table_rows(path, lines, delimiter="\t" if ending == ".tsv" else ",", check_header=check_header)


def read_lines(path: Path, progress: Progress) -> Iterator[str]:
    """The lines as text with their ends, without the byte-order mark.

    Raises:
        DatasetError: a line is too long or no UTF-8; names it.
    """
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise DatasetError(
                    f"{path}, line {number}: is longer than {MAX_LINE_BYTES:,} bytes; one line holds one row"
                )
            progress.line(len(raw))
            if number == 1:
                if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or raw.count(0) > len(raw) // 3:
                    raise DatasetError(f"{path}: is UTF-16 text; save it as UTF-8")
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError as exc:
                raise DatasetError(
                    f"{path}, line {number}: byte {exc.start + 1} of the line (0x{raw[exc.start]:02x}) is "
                    "not UTF-8; save the file as UTF-8"
                ) from exc


def _json_rows(path: Path, lines: Iterator[str], example: str) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            cells = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise DatasetError(f"{path}, line {number}: is not JSON ({exc})") from exc
        yield number, checked_object(f"{path}, line {number}", cells, example)


def checked_object(place: str, cells: object, example: str) -> dict[str, Any]:
    """``cells`` if it is an object; else raises DatasetError for ``place``."""
    if not isinstance(cells, dict):
        raise DatasetError(f"{place}: must be an object like {example}, got {shown(cells)}")
    return cells


def _table_rows(
    path: Path, lines: Iterator[str], *, delimiter: str, check_header: CheckHeader | None
) -> Iterator[Row]:
    csv.field_size_limit(MAX_FIELD_CHARS)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        names = next(reader, [])
        if len(names) > MAX_COLUMNS:
            raise DatasetError(f"{path}, line 1: names {len(names):,} columns, {MAX_COLUMNS:,} are allowed")
        if check_header is not None:
            check_header(names)
        header = [folded(name) for name in names]
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


def missing_in_row(role: str, cells: Iterable[str]) -> str:
    """What is wrong with a row that lacks the column for ``role``, and what helps."""
    named = ", ".join(shown(name) for name in cells) or "none"
    return f"is missing; the columns are {named}. Rename one, or choose the column for {role}"


def column_is_missing(
    path: Path, column: str, header: Iterable[str], *, wanted: str, delimiter: str
) -> DatasetError:
    """The error for a table whose first line lacks ``column``; ``wanted`` says what it should name."""
    named = ", ".join(shown(name) for name in header) or "none"
    separator = "tabs" if delimiter == "\t" else "commas"
    return DatasetError(
        f"{path}, line 1: column {column} is missing; the first line must name the columns {wanted}, "
        f"separated by {separator}; it names {named}. Another column can be mapped to it"
    )
