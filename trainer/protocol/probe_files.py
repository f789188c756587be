"""Probes that people add to a run: ``probes.jsonl`` in its folder, one JSON object per line.

A row is ``{"example_id"?, "input", "expected_output", "group"?}``.  They are a
set of their own, asked by the training and, of old checkpoints, by back-fill;
so their snapshots go by a dataset's name of their own.  Only the standard
library may be imported here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import RunPaths

FILE: Final = "probes.jsonl"
ADDED: Final = " (added probes)"  # behind the dataset's name
ADDED_FOLDER: Final = "added"  # below the snapshots of the training
MAX_PROBES: Final = 1_000
MAX_TEXT: Final = 1_000_000  # characters
MAX_ID: Final = 200
BACK_FILLED: Final = "back-filled"  # behind the model's version, in snapshots that were taken later
_FIELDS: Final = ("example_id", "input", "expected_output", "group")


@dataclass(frozen=True)
class AddedProbe:
    """An example somebody wants to have asked; ``group`` may be empty."""

    example_id: str
    input: str
    expected_output: str
    group: str = ""

    def to_json(self) -> dict[str, str]:
        """As a row of the file."""
        return asdict(self)


class ProbeRowError(ValueError):
    """A row cannot be asked; ``row`` counts from 1, the message names it and says what to do."""

    def __init__(self, row: int, why: str, *, field: str = "") -> None:
        place = f"row {row}" + (f": {field}" if field else "")
        super().__init__(f"{place} {why}" if field else f"{place}: {why}")
        self.row = row
        self.field = field


def probes_path(paths: RunPaths) -> Path:
    """Where the added probes of a run lie."""
    return paths.root / FILE


def added_name(dataset: str) -> str:
    """The name by which the snapshots of a dataset's added probes go."""
    return dataset + ADDED


def has_probes(paths: RunPaths) -> bool:
    """Whether any probe has been added to a run."""
    try:
        return probes_path(paths).stat().st_size > 0
    except OSError:
        return False


def read_probes(path: Path) -> list[AddedProbe]:
    """The probes of a file; none where there is no file.

    Raises:
        ProtocolError: it cannot be read, or a row of it is wrong; names file and row.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise ProtocolError(f"{path}: {exc.strerror}") from exc
    try:
        return checked_probes(rows_of(content))
    except ProbeRowError as exc:
        raise ProtocolError(f"{path}: {exc}") from exc


def rows_of(content: bytes) -> list[Any]:
    """The objects of JSON lines; empty lines do not count.

    Raises:
        ProbeRowError: a line is not UTF-8 or not JSON.
    """
    rows = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except RecursionError as exc:
            raise ProbeRowError(number, "is nested too deeply") from exc
        except ValueError as exc:
            raise ProbeRowError(number, f"is not JSON ({str(exc)[:100]}); write one object per line") from exc
    return rows


def lines_of(probes: Iterable[AddedProbe]) -> bytes:
    """The probes as the file holds them."""
    return "".join(json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in probes).encode()


def checked_probes(rows: Sequence[Any], *, known: Iterable[str] = ()) -> list[AddedProbe]:
    """``rows`` as probes; those without an id are called ``added_0001`` and so on.

    Args:
        rows: parsed JSON.
        known: ids that are taken already.
    Raises:
        ProbeRowError: a row is wrong, or there are too many.
    """
    taken = set(known)
    found = []
    for number, row in enumerate(rows, start=1):
        if len(taken) >= MAX_PROBES:
            raise ProbeRowError(number, f"is one too many: a run may have {MAX_PROBES:,} added probes")
        if not isinstance(row, Mapping):
            raise ProbeRowError(number, "must be an object with input and expected_output")
        if unknown := sorted(str(name) for name in row.keys() - set(_FIELDS)):
            raise ProbeRowError(
                number, f"is no field of a probe; there are {', '.join(_FIELDS)}", field=unknown[0][:40]
            )
        probe = AddedProbe(
            _text(row, "example_id", number, limit=MAX_ID) or _free_id(taken),
            _text(row, "input", number, limit=MAX_TEXT, is_needed=True),
            _text(row, "expected_output", number, limit=MAX_TEXT, is_needed=True),
            _text(row, "group", number, limit=MAX_ID),
        )
        if probe.example_id in taken:
            raise ProbeRowError(number, f"{probe.example_id[:60]!r} is taken already", field="example_id")
        taken.add(probe.example_id)
        found.append(probe)
    return found


def refused_by(
    look: Callable[[AddedProbe, int], object], probes: Sequence[AddedProbe]
) -> list[ProbeRowError]:
    """What ``look`` raises, which is given each probe with its row, counted from 1."""
    found = []
    for row, probe in enumerate(probes, start=1):
        try:
            look(probe, row)
        except ProbeRowError as exc:
            found.append(exc)
    return found


def _text(row: Mapping[str, Any], name: str, number: int, *, limit: int, is_needed: bool = False) -> str:
    value = row.get(name)
    value = "" if value is None and not is_needed else value
    if not isinstance(value, str):
        raise ProbeRowError(number, "is missing" if value is None else "must be text", field=name)
    if is_needed and not value.strip():
        raise ProbeRowError(number, "is empty", field=name)
    if len(value) > limit:
        raise ProbeRowError(number, f"has {len(value):,} characters, the limit is {limit:,}", field=name)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ProbeRowError(number, "holds half of a surrogate pair, which is no text", field=name) from None
    return value


def _free_id(taken: set[str]) -> str:
    number = len(taken) + 1
    while f"added_{number:04d}" in taken:
        number += 1
    return f"added_{number:04d}"
