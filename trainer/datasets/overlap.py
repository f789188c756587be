"""What a training file and a validation file share: the same texts in both make a measure a lie.

Texts are compared without case, spaces and punctuation, as eight bytes each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from trainer.datasets.files import unreadable
from trainer.datasets.kinds.declaration import DatasetKind
from trainer.datasets.measures import key_of, text_of
from trainer.datasets.records import DatasetError, Tell
from trainer.datasets.rows import read_any
from trainer.datasets.tables import ColumnMap

SHOWN: Final = 10
SHOWN_CHARACTERS: Final = 200
WHOLE: Final = "row"
_PUNCTUATION: Final = re.compile(r"[^\w\s]+")

Texts = dict[str, str]


def overlap(
    train: Path,
    validation: Path,
    *,
    kind: DatasetKind,
    columns: Mapping[str, str],
    validation_columns: Mapping[str, str],
    tell: Tell,
) -> dict[str, Any]:
    """How many rows of ``validation`` hold what ``train`` holds, for each role and for whole rows.

    Raises:
        DatasetError: a file cannot be read, or is not of the kind; names file, row and column.
    """
    if kind.is_array:
        raise DatasetError(f"{train}: files of {kind.title.lower()} cannot be compared, only texts can")
    seen: dict[str, dict[int, int]] = {}
    num_train = num_validation = 0
    for line, texts in _texts(train, kind, columns, tell):
        num_train += 1
        for role, text in texts.items():
            seen.setdefault(role, {}).setdefault(_key(text), line)
    shared: dict[str, dict[str, Any]] = {role: {"count": 0, "examples": []} for role in seen}
    for line, texts in _texts(validation, kind, validation_columns, tell):
        num_validation += 1
        for role, text in texts.items():
            where = seen.get(role, {}).get(_key(text))
            if where is not None:
                _note(shared[role], where, line, text)
    for told in shared.values():
        told["share"] = told["count"] / max(1, num_validation)
    return {"kind": kind.name, "rows": {"train": num_train, "validation": num_validation}, "shared": shared}


def _note(told: dict[str, Any], train_line: int, validation_line: int, text: str) -> None:
    told["count"] += 1
    if len(told["examples"]) < SHOWN:
        shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
        told["examples"].append({"train": train_line, "validation": validation_line, "text": shown})


def _texts(
    path: Path, kind: DatasetKind, columns: Mapping[str, str], tell: Tell
) -> Iterator[tuple[int, Texts]]:
    """The texts of each row by role, and all of them as one; empty ones are nothing to compare."""
    mapped = ColumnMap(path, columns, roles=[role.name for role in kind.roles])
    needed = list(dict.fromkeys(name for need in kind.needs for name in need))
    labels = {role.name for role in kind.roles if role.is_label}
    is_any = False
    try:
        for line, cells in read_any(path, tell):
            texts = {role: text for role in needed if (text := text_of(mapped.cell(role, cells)))}
            is_any = is_any or bool(texts)
            compared = {role: text for role, text in texts.items() if role not in labels}
            yield line, {**compared, WHOLE: "\n".join(texts.values())} if texts else {}
    except OSError as exc:
        raise unreadable(path, exc) from exc
    if not is_any:
        raise DatasetError(f"{path}: no row has a column for {' or '.join(needed)}; map its columns first")


def _key(text: str) -> int:
    return key_of(_PUNCTUATION.sub(" ", text))
