"""A page of one snapshot: filtered and ordered by its columns first, so that only what is told is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.errors import InvalidRequest
from app.services.evolution_examples import examples_of, is_correct, short_form, with_similarity
from app.services.evolution_probes import Probes
from app.services.evolution_search import AnswerSearch
from app.store import snapshots
from app.store.models import Snapshot

SORTS: Final = (
    "index", "loss", "similarity", "score", "rank", "margin", "output_length", "example_id", "exact_match",
)  # fmt: skip
FILTERS: Final = ("all", "correct", "incorrect")
_BY_TEXT: Final = ("output_length", "similarity", "example_id")

Rows = NDArray[np.intp]
Columns = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class PageAsked:
    """Which examples of a snapshot.

    Attributes:
        limit: examples per page; None for all.
        offset: examples to leave out first.
        sort: one of ``SORTS``, with ``-`` in front for falling order; missing values come last.
        filter: ``all``, ``correct`` or ``incorrect``.
        q: text looked for in id, input, expected and given answer, without regard to case.
        rows: only these examples, by index.
        is_short: as a list shows them, see ``evolution_examples.short_form``.
    """

    limit: int | None = None
    offset: int = 0
    sort: str | None = None
    filter: str = "all"
    q: str | None = None
    rows: Sequence[int] | None = None
    is_short: bool = False

    def __post_init__(self) -> None:
        if self.filter not in FILTERS:
            raise InvalidRequest(
                f"filter must be one of {', '.join(FILTERS)}, got {self.filter[:40]!r}", field="filter"
            )
        if self.sort and self.sort.removeprefix("-") not in SORTS:
            raise InvalidRequest(
                f"sort must be one of {', '.join(SORTS)}, got {self.sort.removeprefix('-')[:40]!r}",
                field="sort",
            )

    @property
    def page(self) -> slice:
        """Which of those that match."""
        return slice(self.offset, None if self.limit is None else self.offset + self.limit)


def matching(
    session: Session, snapshot: Snapshot, probes: Probes, asked: PageAsked, search: AnswerSearch
) -> list[int]:
    """Positions of all examples that match, in the order asked for."""
    rows = _rows_meant(asked, len(probes.ids))
    if asked.q:
        rows = rows[np.isin(rows, search.rows(session, snapshot, probes, asked.q))]
    sort = asked.sort or ""
    by_text = sort.removeprefix("-") in _BY_TEXT
    if asked.filter != "all" or (sort and not by_text):
        columns = snapshots.columns(session, [snapshot.id])[snapshot.id]
        if asked.filter != "all":
            rows = rows[is_correct(columns, snapshot)[rows] == (asked.filter == "correct")]
        if sort and not by_text:
            rows = _sorted_rows(rows, snapshot, columns, sort)
    found: list[int] = rows.tolist()
    return _sorted(examples_of(session, snapshot, probes, found), sort) if by_text else found


def page_of(
    session: Session, snapshot: Snapshot, probes: Probes, asked: PageAsked, rows: Sequence[int]
) -> list[dict[str, Any]]:
    """The examples at these positions, as they were asked for."""
    told = [with_similarity(one) for one in examples_of(session, snapshot, probes, rows)]
    return [short_form(one) for one in told] if asked.is_short else told


def _rows_meant(asked: PageAsked, count: int) -> Rows:
    if asked.rows is None:
        return np.arange(count)
    beyond = [row for row in asked.rows if row >= count]
    if beyond:
        raise InvalidRequest(
            f"there is no example at index {beyond[0]}",
            field="rows",
            hint=f"indices go from 0 to {count - 1}",
        )
    return np.array(asked.rows, np.intp)


def _sorted_rows(rows: Rows, snapshot: Snapshot, columns: Columns, sort: str) -> Rows:
    is_falling, name = sort.startswith("-"), sort.removeprefix("-")
    if name == "index":
        return rows[::-1] if is_falling else rows
    if name == "exact_match":
        keys = is_correct(columns, snapshot)[rows].astype(np.float64)
    else:
        keys = columns.get(name, np.full(snapshot.num_examples, np.nan))[rows]
    if name == "rank":
        keys = np.where(keys >= 1, np.floor(keys), np.nan)
    keys = np.where(np.isfinite(keys), -keys if is_falling else keys, np.nan)
    order: Rows = np.argsort(keys, kind="stable")  # NaN goes last
    return rows[order]


def _sorted(examples: list[dict[str, Any]], sort: str) -> list[int]:
    """Positions in the order of what was answered, missing values last."""
    is_falling, name = sort.startswith("-"), sort.removeprefix("-")
    if name == "similarity":
        examples = [with_similarity(one) for one in examples]
    present = [one for one in examples if one.get(name) is not None]
    missing = [one for one in examples if one.get(name) is None]
    ordered = sorted(present, key=lambda one: one[name], reverse=is_falling) + missing
    return [one["index"] for one in ordered]
