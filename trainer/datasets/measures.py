"""What can be counted of the rows of a dataset while they pass: lengths, duplicates, labels, what is empty.

Memory is bounded: a length takes four bytes, and rows are compared as eight
bytes each, for the first ``MAX_COMPARED`` of them.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from trainer.datasets.kinds.declaration import DatasetKind

MAX_COMPARED: Final = 5_000_000
MAX_LABELS: Final = 10_000
SHOWN_LABELS: Final = 50
SHOWN_PLACES: Final = 5
PERCENTILES: Final = (50, 95, 99)
CountTokens = Callable[[str], int]
_MAX_LENGTH: Final = 2**32 - 1


class Measures:
    """Fed row by row with the texts of each role; told at the end."""

    def __init__(
        self, kind: DatasetKind, roles: Sequence[str], *, count_tokens: CountTokens | None = None
    ) -> None:
        """Args:
        kind: what the rows are of.
        roles: those played by a column of this file, the ones that are needed first.
        count_tokens: how many tokens a text has; None where no tokenizer is known.
        """
        needed = {role for need in kind.needs for role in need}
        self._needed = [role for role in roles if role in needed]
        self._labels = [role.name for role in kind.roles if role.is_label and role.name in roles]
        self._texts = [role for role in self._needed if role not in self._labels]
        self._groups = {role for role in roles if role in ("group", "groups")}
        self._lengths = {role: _Lengths(count_tokens) for role in self._texts}
        self._repeats = {role: _Repeats() for role in (*self._texts, "row")}
        self._counts: Counter[str] = Counter()
        self._contradictions = _Contradictions()
        self._empty: dict[str, list[int]] = {role: [] for role in self._needed}
        self._num_empty: Counter[str] = Counter()
        self._group_keys: set[int] = set()
        self.num_rows = 0

    def add(self, line: int, cells: Mapping[str, object]) -> None:
        """Count one row; ``cells`` holds what it has for each role, ``line`` is where it stands."""
        self.num_rows += 1
        texts = {role: text_of(cells.get(role)) for role in self._needed}
        for role, text in texts.items():
            if not text:
                self._num_empty[role] += 1
                if len(self._empty[role]) < SHOWN_PLACES:
                    self._empty[role].append(line)
        keys = {role: key_of(texts[role]) for role in self._texts}
        for role in self._texts:
            self._lengths[role].add(texts[role])
            self._repeats[role].add(keys[role], line)
        whole = key_of("\x00".join(texts[role] for role in self._needed))
        self._repeats["row"].add(whole, line)
        for role in self._labels:
            if len(self._counts) < MAX_LABELS or texts[role] in self._counts:
                self._counts[texts[role]] += 1
            self._contradictions.add(tuple(keys.values()), texts[role], line)
        for role in self._groups:
            self._group_keys.add(key_of(text_of(cells.get(role))))

    def to_json(self) -> dict[str, Any]:
        """Everything counted so far."""
        told: dict[str, Any] = {
            "rows": self.num_rows,
            "lengths": {role: lengths.to_json() for role, lengths in self._lengths.items()},
            "empty": {
                role: {"count": self._num_empty[role], "lines": self._empty[role]} for role in self._needed
            },
            "duplicates": {role: repeats.to_json() for role, repeats in self._repeats.items()},
            "groups": len(self._group_keys) or None,
        }
        if self._labels:
            told["labels"] = self._told_labels()
        return told

    def _told_labels(self) -> dict[str, Any]:
        most = self._counts.most_common()
        return {
            "count": len(most),
            "most": [{"label": label, "count": count} for label, count in most[:SHOWN_LABELS]],
            "smallest": most[-1][1] if most else 0,
            "majority_share": most[0][1] / self.num_rows if most else None,
            "contradictions": self._contradictions.to_json(),
        }


class _Lengths:
    """Lengths of the texts of one role."""

    def __init__(self, count_tokens: CountTokens | None) -> None:
        self._count_tokens = count_tokens
        self._of = {unit: array("I") for unit in ("characters", "words")}
        if count_tokens is not None:
            self._of["tokens"] = array("I")

    def add(self, text: str) -> None:
        self._of["characters"].append(min(_MAX_LENGTH, len(text)))
        self._of["words"].append(len(text.split()))
        if self._count_tokens is not None:
            self._of["tokens"].append(self._count_tokens(text))

    def to_json(self) -> dict[str, dict[str, float]]:
        return {unit: _summary(lengths) for unit, lengths in self._of.items() if lengths}


class _Repeats:
    """How many rows say what an earlier row has said."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._places: list[list[int]] = []
        self._count = self._compared = 0

    def add(self, key: int, line: int) -> None:
        if self._compared >= MAX_COMPARED:
            return
        self._compared += 1
        first = self._first.setdefault(key, line)
        if first != line:
            self._count += 1
            if len(self._places) < SHOWN_PLACES:
                self._places.append([first, line])

    def to_json(self) -> dict[str, Any]:
        return {"count": self._count, "compared": self._compared, "lines": self._places}


class _Contradictions:
    """Rows with the text of an earlier row and another label."""

    def __init__(self) -> None:
        self._first: dict[tuple[int, ...], tuple[str, int]] = {}
        self._places: list[list[int]] = []
        self._count = 0

    def add(self, keys: tuple[int, ...], label: str, line: int) -> None:
        if len(self._first) >= MAX_COMPARED:
            return
        first, where = self._first.setdefault(keys, (label, line))
        if first != label:
            self._count += 1
            if len(self._places) < SHOWN_PLACES:
                self._places.append([where, line])

    def to_json(self) -> dict[str, Any]:
        return {"count": self._count, "lines": self._places}


def text_of(cell: object) -> str:
    """What a cell says: text as it is, messages one after the other, anything else as JSON; null is empty."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, list):
        return "\n".join(_message(one) for one in cell).strip()
    return json.dumps(cell, ensure_ascii=False)


def key_of(text: str) -> int:
    """Eight bytes that are equal for texts that differ in case and spaces only."""
    folded = " ".join(text.split()).casefold()
    return int.from_bytes(blake2b(folded.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def _message(one: object) -> str:
    if isinstance(one, dict):
        said = one.get("content", one.get("value", ""))
        return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)


def _summary(lengths: array[int]) -> dict[str, float]:
    values = np.frombuffer(lengths, dtype=np.uint32)
    told = {f"p{share}": float(np.percentile(values, share, method="inverted_cdf")) for share in PERCENTILES}
    return {"mean": round(float(values.mean()), 2), **told, "max": float(values.max())}
