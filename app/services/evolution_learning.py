"""What a run has learned of its probes and when: the list of examples, and the dynamics of all of them.

Shape suffixes: S snapshots, N probes.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.domain.learning import CATEGORIES, Learning, by_step, learning_of, rankings, rounded
from app.domain.numbers import MOST_EXACT
from app.errors import InvalidRequest
from app.services.evolution_choice import comparable, snapshot_of
from app.services.evolution_examples import SHORT_CHARACTERS, is_correct, shortened
from app.services.evolution_probes import Probes, ProbeShelf
from app.store import snapshots
from app.store.models import Snapshot
from app.store.snapshots import Moment

SORTS: Final = (
    "index", "loss", "loss_change", "similarity", "rank", "learned_at", "num_forgotten", "flips",
    "confidence", "variability", "example_id",
)  # fmt: skip
STANDING_OUT: Final = 20
_LABEL_CHARACTERS: Final = 120
_KEPT_BYTES: Final = 64 * 1024 * 1024
_AT_ONCE: Final = 50  # snapshots whose columns are in memory together
_NAMES: Final = ("loss", "correct", "rank", "similarity", "score")

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Followed:
    """A run's probes through all its snapshots, and the numbers of one: the newest, or a chosen one."""

    run_id: str
    task: str
    probes: Probes
    learning: Learning
    moment: Moment
    right_N: NDArray[np.bool_]
    loss_N: Floats
    rank_N: Floats
    similarity_N: Floats

    @property
    def steps(self) -> list[int]:
        """The steps of the snapshots."""
        found: list[int] = self.learning.steps_S.tolist()
        return found


@dataclass(frozen=True)
class ExamplesAsked:
    """Which examples, in which order; ``limit`` None means all.

    ``filter`` (``all``, ``correct``, ``incorrect``), the orders by loss, rank and similarity, and the
    answers that ``q`` is looked for in are of the snapshot at ``step``, None being the newest.
    """

    category: str | None = None
    group: str | None = None
    q: str | None = None
    step: int | str | None = None
    filter: str = "all"
    sort: str | None = None
    limit: int | None = None
    offset: int = 0
    is_short: bool = False


class LearningDesk:
    """Follows probes through snapshots, and keeps what it found for the runs asked about last."""

    def __init__(self, shelf: ProbeShelf) -> None:
        self._shelf = shelf
        self._kept: OrderedDict[tuple[tuple[int, int, float], ...], Followed] = OrderedDict()
        self._lock = threading.Lock()

    def follow(
        self, session: Session, dataset: str, run: str | None, *, step: int | str | None = None
    ) -> Followed:
        """The run's probes through all its snapshots that asked what the newest one asked.

        Args:
            session: a reading session.
            dataset: plain name.
            run: which run; None stands for the newest.
            step: whose numbers to tell; None stands for the newest.
        Raises:
            NotFound: no such dataset, run or step.
            InvalidRequest: the snapshot at ``step`` asked other probes than the newest one.
        """
        followed = self._follow(session, dataset, run)
        return followed if step is None else _at(session, dataset, followed, step)

    def _follow(self, session: Session, dataset: str, run: str | None) -> Followed:
        run_id, taken = comparable(session, dataset, run)
        key = tuple((one.id, one.attempt, one.t) for one in taken)  # ids alone are given anew
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        followed = _follow(session, run_id, taken, self._shelf.of(session, taken[-1].probe_set))
        with self._lock:
            self._kept[key] = followed
            while len(self._kept) > 1 and self._num_bytes() > _KEPT_BYTES:
                self._kept.popitem(last=False)
        return followed

    def _num_bytes(self) -> int:
        return sum(one.learning.num_bytes for one in self._kept.values())


@dataclass(frozen=True)
class Listed:
    """The probes somebody asked for, in their order; counts are of all before the category was chosen."""

    rows: Rows
    counts: dict[str, int]
    groups: Counter[str]


def listed(followed: Followed, asked: ExamplesAsked, found: Rows) -> Listed:
    """Those of the ``found`` probes that somebody asked for, in the order asked for.

    Raises:
        InvalidRequest: an unknown category or sort.
    """
    if asked.category is not None and asked.category not in CATEGORIES:
        raise InvalidRequest(
            f"category must be one of {', '.join(CATEGORIES)}, got {asked.category[:40]!r}", field="category"
        )
    groups = Counter(group for row in found if (group := followed.probes.groups[row]) is not None)
    if asked.group is not None:
        found = np.array([row for row in found if followed.probes.groups[row] == asked.group], np.intp)
    if asked.filter != "all":
        found = found[followed.right_N[found] == (asked.filter == "correct")]
    tally = np.bincount(followed.learning.category_N[found], minlength=len(CATEGORIES)).tolist()
    if asked.category is not None:
        found = found[followed.learning.category_N[found] == CATEGORIES.index(asked.category)]
    counts = dict(zip(CATEGORIES, tally, strict=True))
    return Listed(_sorted(followed, found, asked.sort), counts, groups)


def examples_json(dataset: str, followed: Followed, asked: ExamplesAsked, found: Listed) -> dict[str, Any]:
    """The probes of a list with what became of each, as the API tells it."""
    stop = None if asked.limit is None else asked.offset + asked.limit
    return {
        "dataset": dataset,
        "run": followed.run_id,
        "task": followed.task,
        "steps": followed.steps,
        "counts": found.counts,
        "groups": [{"name": name, "count": count} for name, count in _by_size(found.groups)],
        "total": len(found.rows),
        "offset": asked.offset,
        "limit": asked.limit,
        "examples": _rows_json(followed, found.rows[asked.offset : stop], is_short=asked.is_short),
    }


def standing_of(
    steps: Sequence[int], rights: Sequence[bool], losses: Sequence[float | None]
) -> dict[str, Any]:
    """What became of one probe, from its answers alone."""
    rights_SN = np.array(rights, np.bool_)[:, np.newaxis]
    losses_SN = np.array([math.nan if loss is None else loss for loss in losses])[:, np.newaxis]
    learning = learning_of(steps, rights_SN, losses_SN)
    return _standings(learning, np.array([0], np.intp))[0]


def dynamics_json(dataset: str, followed: Followed) -> dict[str, Any]:
    """Where every probe stands on the dataset map, what each snapshot changed, and who stands out."""
    learning, probes = followed.learning, followed.probes
    columns = {
        "confidence": _short(learning.confidence_N),
        "variability": _short(learning.variability_N),
        "correctness": _short(learning.correctness_N),
        "num_forgotten": learning.num_forgotten_N.tolist(),
        "learned_at": _whole(learning.learned_at_N),
    }
    told = rankings(learning, most=STANDING_OUT)
    return {
        "dataset": dataset,
        "run": followed.run_id,
        "task": followed.task,
        "steps": followed.steps,
        "by_step": by_step(learning),
        "examples": [
            {
                "example_id": example_id,
                "index": row,
                "label": shortened(str(probes.examples[row]["input"]), _LABEL_CHARACTERS),
                "group": probes.groups[row],
                "category": CATEGORIES[learning.category_N[row]],
                **{name: column[row] for name, column in columns.items()},
            }
            for row, example_id in enumerate(probes.ids)
        ],
        **{name: [probes.ids[row] for row in rows] for name, rows in told.items()},
    }


def _at(session: Session, dataset: str, followed: Followed, step: int | str) -> Followed:
    """The same with the numbers of the snapshot at ``step``."""
    chosen = snapshot_of(session, followed.run_id, dataset, step)
    if chosen.probe_set != followed.probes.probe_set:
        raise InvalidRequest(
            f"step {chosen.step} asked other examples than the newest snapshot",
            field="step",
            hint=f"those that asked the same: {', '.join(map(str, followed.steps[:20]))}",
        )
    columns = snapshots.columns(session, [chosen.id], names=_NAMES)[chosen.id]
    return replace(followed, moment=snapshots.moment_of(chosen), **_numbers(columns, chosen))


def _follow(session: Session, run_id: str, taken: Sequence[Moment], probes: Probes) -> Followed:
    rights, losses = [], []
    newest: dict[str, Floats] = {}
    missing_N = np.full(len(probes.ids), np.nan)
    for start in range(0, len(taken), _AT_ONCE):
        some = taken[start : start + _AT_ONCE]
        names = _NAMES[:3] if start + _AT_ONCE < len(taken) else _NAMES
        columns = snapshots.columns(session, [one.id for one in some], names=names)
        for one in some:
            newest = columns[one.id]
            rights.append(is_correct(newest, one))
            losses.append(newest.get("loss", missing_N))
    return Followed(
        run_id=run_id,
        task=taken[-1].task,
        probes=probes,
        learning=learning_of([one.step for one in taken], rights, losses),
        moment=taken[-1],
        **_numbers(newest, taken[-1]),
    )


def _numbers(columns: dict[str, Floats], snapshot: Snapshot | Moment) -> dict[str, Any]:
    """The fields of ``Followed`` that are of one snapshot."""
    missing_N = np.full(snapshot.num_examples, np.nan)
    rank_N = columns.get("rank", missing_N)
    return {
        "right_N": is_correct(columns, snapshot),
        "loss_N": columns.get("loss", missing_N),
        "rank_N": np.where((rank_N >= 1) & (rank_N <= MOST_EXACT), np.floor(rank_N), np.nan),
        "similarity_N": np.clip(_similarity_of(snapshot.task, columns, missing_N), 0.0, 1.0),
    }


def _similarity_of(task: str, columns: dict[str, Floats], missing_N: Floats) -> Floats:
    """Of a retriever and a classifier it is the score, as in ``evolution_examples``."""
    name = "score" if task in ("retrieval", "classification") else "similarity"
    values_N = columns.get(name, missing_N)
    return np.where(np.isfinite(values_N), values_N, np.nan)


def _sorted(followed: Followed, rows: Rows, sort: str | None) -> Rows:
    """Rows in the order asked for, missing values last, equal ones as they were asked."""
    if not sort:
        return rows
    is_falling, name = sort.startswith("-"), sort.removeprefix("-")
    if name not in SORTS:
        raise InvalidRequest(f"sort must be one of {', '.join(SORTS)}, got {name[:40]!r}", field="sort")
    if name == "example_id":
        ids = followed.probes.ids
        return np.array(sorted(rows.tolist(), key=lambda row: ids[row], reverse=is_falling), np.intp)
    keys = _sort_keys(followed, name)[rows]
    keys = np.where(np.isfinite(keys), -keys if is_falling else keys, np.nan)
    order: Rows = np.argsort(keys, kind="stable")  # NaN goes last
    return rows[order]


def _sort_keys(followed: Followed, name: str) -> Floats:
    learning = followed.learning
    keys = {
        "index": np.arange(len(followed.probes.ids)),
        "loss": followed.loss_N,
        "loss_change": learning.loss_change_N,
        "similarity": followed.similarity_N,
        "rank": followed.rank_N,
        "learned_at": learning.learned_at_N,
        "num_forgotten": learning.num_forgotten_N,
        "flips": learning.flips_N,
        "confidence": learning.confidence_N,
        "variability": learning.variability_N,
    }
    return np.asarray(keys[name], np.float64)


def _rows_json(followed: Followed, rows: Rows, *, is_short: bool) -> list[dict[str, Any]]:
    learning, probes = followed.learning, followed.probes
    trails = rounded(learning.loss_SN[:, rows].T)
    trails_json = trails.astype(object)
    trails_json[~np.isfinite(trails)] = None
    rights = (learning.right_SN[:, rows].T + ord("0")).astype(np.uint8)
    limit = SHORT_CHARACTERS if is_short else None
    ranks, similarities = _whole(followed.rank_N[rows]), _finite(followed.similarity_N[rows])
    told = zip(
        rows.tolist(),
        _standings(learning, rows),
        ranks,
        similarities,
        rights,
        trails_json.tolist(),
        strict=True,
    )
    return [
        {
            "example_id": probes.ids[row],
            "index": row,
            "input": shortened(str(probes.examples[row]["input"]), limit),
            "expected_output": shortened(str(probes.examples[row]["expected_output"]), limit),
            "group": probes.groups[row],
            **stands,
            "rank": rank,
            "similarity": similarity,
            "right": right.tobytes().decode("ascii"),
            "trail": trail,
        }
        for row, stands, rank, similarity, right, trail in told
    ]


def _standings(learning: Learning, rows: Rows) -> list[dict[str, Any]]:
    columns: dict[str, list[Any]] = {
        "category": [CATEGORIES[position] for position in learning.category_N[rows]],
        "correct": learning.right_SN[-1, rows].tolist(),
        "learned_at": _whole(learning.learned_at_N[rows]),
        "flips": learning.flips_N[rows].tolist(),
        "num_forgotten": learning.num_forgotten_N[rows].tolist(),
        "last_forgotten_at": _whole(learning.last_forgotten_at_N[rows]),
        "first_loss": _finite(learning.first_loss_N[rows]),
        "last_loss": _finite(learning.last_loss_N[rows]),
        "loss_change": _finite(learning.loss_change_N[rows]),
        "confidence": _finite(learning.confidence_N[rows]),
        "variability": _finite(learning.variability_N[rows]),
    }
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _finite(values_N: Floats) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values_N.tolist()]


def _short(values_N: Floats) -> list[float | None]:
    return _finite(rounded(values_N))


def _whole(values_N: Floats) -> list[int | None]:
    return [int(value) if math.isfinite(value) else None for value in values_N.tolist()]


def _by_size(groups: Counter[str]) -> list[tuple[str, int]]:
    return sorted(groups.items(), key=lambda item: (-item[1], item[0]))
