"""Rows of any file of texts, within bounds: tables, JSON lines, a JSON list, passages of plain text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from trainer.datasets.files import check_regular
from trainer.datasets.records import DatasetError, Tell
from trainer.datasets.tables import CheckHeader, Progress, Row, checked_object, read_lines, read_rows, shown

MAX_JSON_BYTES: Final = 512 * 1024 * 1024  # a JSON list is parsed whole: several times this in memory
PASSAGE_CHARS: Final = 2000
LIST: Final = ".json"
TEXT: Final = ".txt"


def read_any(path: Path, tell: Tell, *, check_header: CheckHeader | None = None) -> Iterator[Row]:
    """The rows of ``path`` as (number, cells), see :func:`rows_of`.

    Raises:
        DatasetError: it is no regular file, or names file and line of what is no row; ``OSError`` passes.
    """
    return rows_of(path, Progress(tell, path, check_regular(path)), check_header=check_header)


def rows_of(
    path: Path, progress: Progress, *, check_header: CheckHeader | None = None, example: str = "{…}"
) -> Iterator[Row]:
    """The rows of a regular file by its ending; :func:`place_of` says what their numbers count.

    Args:
        path: the file.
        progress: told of every line.
        check_header: given the names of a table's columns; raises what is wrong.
        example: an object as a file of JSON should hold, for messages.

    Raises:
        DatasetError: names file and line of what is no row; ``OSError`` passes.
    """
    ending = path.suffix.lower()
    if ending == TEXT:
        return _passages(path, progress)
    if ending == LIST:
        return _list_rows(path, progress, example)
    return read_rows(path, progress, check_header=check_header, example=example)


def place_of(path: Path, number: int) -> str:
    """The number of a row in words: a list counts its entries, everything else its lines."""
    return f"{'entry' if path.suffix.lower() == LIST else 'line'} {number}"


def _passages(path: Path, progress: Progress) -> Iterator[Row]:
    """Paragraphs joined to passages of about :data:`PASSAGE_CHARS`, with the number of their first line."""
    held: list[str] = []
    length, first = 0, 1
    for number, ended_line in enumerate(read_lines(path, progress), start=1):
        line = ended_line.rstrip("\r\n")
        if not held and not line.strip():
            continue
        first = first if held else number
        held.append(line)
        length += len(line) + 1
        if length >= 4 * PASSAGE_CHARS or (length >= PASSAGE_CHARS and not line.strip()):
            yield first, {"text": "\n".join(held)}
            held, length = [], 0
    if held:
        yield first, {"text": "\n".join(held)}


def _list_rows(path: Path, progress: Progress, example: str) -> Iterator[Row]:
    size = path.stat().st_size
    if size > MAX_JSON_BYTES:
        raise DatasetError(
            f"{path}: a JSON list of {size:,} bytes is read whole, {MAX_JSON_BYTES:,} are allowed; "
            "save it as JSON lines (.jsonl), one object per line"
        )
    content = path.read_bytes()
    progress.line(len(content))
    try:
        entries = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        raise DatasetError(f"{path}: byte {exc.start + 1} is not UTF-8; save the file as UTF-8") from exc
    except (ValueError, RecursionError) as exc:
        raise DatasetError(
            f"{path}: is not JSON ({exc}); one object per line is JSON lines: name the file .jsonl"
        ) from exc
    if not isinstance(entries, list):
        raise DatasetError(f"{path}: must hold a list of objects, got {shown(entries)}")
    for number, cells in enumerate(entries, start=1):
        yield number, checked_object(f"{path}, {place_of(path, number)}", cells, example)
