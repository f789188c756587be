"""Looks a file over before anybody trains on it: columns, what it can be, first rows, figures, what is wrong.

Two passes: a tolerant one that counts what there is, and the reader that
training uses, which refuses the first malformed cell.  Both are bounded in
line length, cells and columns; the caller bounds memory and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from trainer.datasets import arrays
from trainer.datasets.checking import read_as, sha256_of
from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.kinds.declaration import DatasetKind
from trainer.datasets.kinds.detection import Candidate, candidates
from trainer.datasets.kinds.registry import kinds
from trainer.datasets.measures import CountTokens, Measures, text_of
from trainer.datasets.records import DatasetError, Tell
from trainer.datasets.rows import read_any
from trainer.datasets.tables import ColumnMap, folded

LOOKED_AT: Final = 1000  # rows from which columns and kinds are told
PREVIEW_ROWS: Final = 10
EXAMPLES: Final = 3
SHOWN_CHARACTERS: Final = 300
MAX_COLUMNS_SHOWN: Final = 200
_TYPES: Final = {str: "text", bool: "boolean", int: "number", float: "number", list: "list", dict: "object"}

Rows = Iterator[tuple[int, dict[str, Any]]]


@dataclass(frozen=True)
class Wish:
    """How a file is to be looked at.

    Attributes:
        kind: what it shall be; empty: what suggests itself.
        columns: role -> column; None: what suggests itself.
        is_quick: only the first rows; neither hash nor the reader of training.
        count_tokens: how many tokens a text has; None where no tokenizer is known.
    """

    kind: str = ""
    columns: Mapping[str, str] | None = None
    is_quick: bool = False
    count_tokens: CountTokens | None = None


@dataclass
class _Columns:
    """The columns of the first rows, in the order in which they turn up."""

    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    num_rows: int = 0

    def add(self, cells: Mapping[str, Any], names: Mapping[str, str]) -> None:
        self.num_rows += 1
        for key, cell in cells.items():
            fresh: dict[str, Any] = {"name": names.get(key, key), "types": {}, "filled": 0, "examples": []}
            column = self.found.setdefault(key, fresh)
            kind = _TYPES.get(type(cell), "empty")
            if cell is None or text_of(cell) == "":
                continue
            column["filled"] += 1
            column["types"][kind] = column["types"].get(kind, 0) + 1
            if len(column["examples"]) < EXAMPLES:
                column["examples"].append(shorten(text_of(cell)))

    def to_json(self) -> list[dict[str, Any]]:
        return [
            {
                "name": column["name"],
                "type": " or ".join(column["types"]) or "empty",
                "filled_share": column["filled"] / max(1, self.num_rows),
                "examples": column["examples"],
            }
            for column in islice(self.found.values(), MAX_COLUMNS_SHOWN)
        ]


def inspect(path: Path, tell: Tell, wish: Wish) -> dict[str, Any]:
    """Everything that can be told of ``path``, as JSON: what is wrong with its rows stands in ``check``.

    Raises:
        DatasetError: nothing can be told: it is missing, no regular file, empty, or of an unknown ending.
    """
    num_bytes, ending = check_regular(path), path.suffix.lower()
    before = path.stat()
    if not any(ending in kind.endings for kind in kinds().values()):
        known = sorted({ending for kind in kinds().values() for ending in kind.endings})
        raise DatasetError(f"{path}: has an unknown ending; known are {', '.join(known)}")
    looked = _look_at_arrays(path, wish) if ending == arrays.ENDING else _look(path, tell, wish)
    told = {
        "path": str(path),
        "format": ending.lstrip("."),
        "num_bytes": num_bytes,
        "mtime_ns": before.st_mtime_ns,
        **looked,
    }
    if not wish.is_quick and told["check"]["ok"]:
        told["check"], told["sha256"] = _strict(path, tell, told)
        after = path.stat()
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise DatasetError(f"{path}: was changed while it was read; try again when it is complete")
    return told


def shorten(text: str) -> str:
    """``text`` as it is shown: the beginning of a long one."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _look(path: Path, tell: Tell, wish: Wish) -> dict[str, Any]:
    """The tolerant pass over texts."""
    reading = _Reading(path, tell)
    first = list(islice(reading, LOOKED_AT))
    columns = _Columns()
    for _, cells in first:
        columns.add(cells, reading.names)
    names = [column["name"] for column in columns.found.values()] or list(reading.names.values())
    possible = candidates(path.suffix.lower(), names)
    kind, mapping = _chosen(wish, possible)
    told: dict[str, Any] = {
        "columns": columns.to_json(),
        "kinds": [one.to_json() for one in possible],
        "kind": kind.name if kind is not None else None,
        "mapping": mapping,
        "statistics": None,
        "preview": [],
        "check": {"ok": False, "error": _no_kind(path, names, possible)},
    }
    if kind is not None:
        told |= _measured(path, kind, mapping, chain(first, [] if wish.is_quick else reading), wish)
    if reading.trouble is not None:
        told["check"] = {"ok": False, "error": reading.trouble}
    return {**told, "is_whole": reading.is_over}


def _look_at_arrays(path: Path, wish: Wish) -> dict[str, Any]:
    """The headers and the first rows of an NPZ file."""
    described = arrays.describe(path)
    possible = candidates(path.suffix.lower(), [array["name"] for array in described])
    kind, mapping = _chosen(wish, possible)
    told: dict[str, Any] = {
        "columns": described,
        "kinds": [one.to_json() for one in possible],
        "kind": kind.name if kind is not None else None,
        "mapping": mapping,
        "statistics": None,
        "preview": [],
        "check": {"ok": True},
        "is_whole": True,
    }
    if kind is None or kind.missing(mapping):
        names = [array["name"] for array in described]
        error = (
            _no_kind(path, names, possible) if kind is None else _missing(path, kind, kind.missing(mapping))
        )
        return {**told, "check": {"ok": False, "error": error}}
    try:
        told["preview"], told["statistics"] = arrays.preview(path, mapping)
    except DatasetError as exc:
        told["check"] = {"ok": False, "error": str(exc)}
    return told


def _chosen(wish: Wish, possible: Sequence[Candidate]) -> tuple[DatasetKind | None, dict[str, str]]:
    """The kind and the mapping asked for, else those that suggest themselves.

    Raises:
        DatasetError: the kind asked for does not exist.
    """
    suggested = {one.kind.name: one.columns for one in possible}
    is_clear = len(possible) == 1 or any(not one.missing for one in possible)
    name = wish.kind or (possible[0].kind.name if possible and is_clear else "")
    if name and name not in kinds():
        raise DatasetError(f"there is no kind {name!r}; there is {', '.join(kinds())}")
    mapping = suggested.get(name, {}) if wish.columns is None else wish.columns
    return (kinds()[name] if name else None), dict(mapping)


def _measured(
    path: Path, kind: DatasetKind, mapping: Mapping[str, str], rows: Rows, wish: Wish
) -> dict[str, Any]:
    try:
        columns = ColumnMap(path, mapping, roles=[role.name for role in kind.roles])
    except DatasetError as exc:
        return {"check": {"ok": False, "error": str(exc)}}
    missing = kind.missing(mapping)
    if missing and path.suffix.lower() not in kind.whole_text:
        return {"check": {"ok": False, "error": _missing(path, kind, missing), "missing": list(missing)}}
    is_text = path.suffix.lower() in kind.whole_text
    roles = ["text"] if is_text else [role.name for role in kind.roles if mapping.get(role.name)]
    measures = Measures(kind, roles, count_tokens=wish.count_tokens)
    preview: list[dict[str, Any]] = []
    for line, cells in rows:
        played = {role: columns.cell(role, cells) for role in roles}
        measures.add(line, played)
        if len(preview) < PREVIEW_ROWS:
            shown = {role: shorten(text_of(cell)) for role, cell in played.items()}
            preview.append({"line": line, "cells": shown})
    return {"statistics": measures.to_json(), "preview": preview, "check": {"ok": True}}


def _strict(path: Path, tell: Tell, told: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """What the reader of training says, and the hash of the bytes."""
    try:
        rows = read_as(kinds()[told["kind"]], path, tell, told["mapping"])
    except DatasetError as exc:
        return {"ok": False, "error": str(exc)}, ""
    groups = getattr(rows, "groups", None)
    check = {
        "ok": True,
        "num_rows": len(rows),
        "num_groups": len(set(groups)) if groups is not None else None,
        "content_hash": rows.content_hash,
    }
    return check, sha256_of(path)


def _missing(path: Path, kind: DatasetKind, missing: Sequence[str]) -> str:
    ways = " or ".join(" and ".join(need) for need in kind.needs)
    needed = f"; needed are {ways}" if len(kind.needs) > 1 else ""
    return f"{path}: choose a column for {' and '.join(missing)}{needed}"


def _no_kind(path: Path, names: Sequence[str], possible: Sequence[Candidate]) -> str:
    named = ", ".join(repr(name) for name in names if name) or "none"
    if not possible:
        return f"{path}: has too few columns for any kind of dataset; it has {named}"
    words = " or ".join(one.kind.title.lower() for one in possible)
    return f"{path}: say what it holds ({words}) and which column is what; it has the columns {named}"


class _Reading:
    """The rows of a file up to the first that is none; what is wrong then stands in ``trouble``."""

    def __init__(self, path: Path, tell: Tell) -> None:
        self._path = path
        self.names: dict[str, str] = {}  # of a table: as compared -> as written
        self._rows = read_any(path, tell, check_header=self._see)
        self.trouble: str | None = None
        self.is_over = False

    def _see(self, header: list[str]) -> None:
        for name in header:
            self.names.setdefault(folded(name), name.strip())

    def __iter__(self) -> Rows:
        return self

    def __next__(self) -> tuple[int, dict[str, Any]]:
        if self.is_over or self.trouble is not None:
            raise StopIteration
        try:
            return next(self._rows)
        except StopIteration:
            self.is_over = True
            raise
        except DatasetError as exc:
            self.trouble = str(exc)
        except OSError as exc:
            self.trouble = str(unreadable(self._path, exc))
        raise StopIteration
