"""How a model's answers to fixed probes change over training.

Addresses name datasets by their plain name.  Without a run, the newest run of
the dataset that has snapshots is meant.  Every number is JSON-safe: what is
not finite is None.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.domain.answer_lines import front_of
from app.services.evolution_choice import all_of, no_example, run_of, snapshot_of
from app.services.evolution_comparison import comparison
from app.services.evolution_examples import finished_examples, finished_way
from app.services.evolution_learning import (
    ExamplesAsked,
    Followed,
    LearningDesk,
    Listed,
    dynamics_json,
    examples_json,
    listed,
    standing_of,
)
from app.services.evolution_page import PageAsked, matching, page_of
from app.services.evolution_probes import Probes, ProbeShelf
from app.services.evolution_search import AnswerSearch
from app.services.evolution_shapes import PROBE, dataset_json, entry_json, facts, summary
from app.store import snapshots
from app.store.engine import Store


class Evolution:
    """Reads snapshots as lists, single ones, trajectories, comparisons and dynamics."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shelf = ProbeShelf()
        self._desk = LearningDesk(self._shelf)
        self._search = AnswerSearch()

    def datasets(self) -> list[dict[str, Any]]:
        """Every dataset with snapshots, newest step first; counts are those of its newest run."""
        found = []
        with self._store.read() as session:
            of_dataset: dict[str, list[str]] = {}
            for dataset, run_id, _ in snapshots.dataset_runs(session):
                of_dataset.setdefault(dataset, []).append(run_id)
            for dataset, run_ids in of_dataset.items():
                taken = snapshots.list_snapshots(session, run_ids[0], dataset=dataset)
                if taken:
                    found.append(dataset_json(dataset, run_ids, taken))
        return sorted(found, key=lambda entry: (-entry["last_step"], entry["name"]))

    def has(self, dataset: str) -> bool:
        """Whether a run has snapshots of a dataset of exactly this name."""
        with self._store.read() as session:
            return snapshots.newest_run(session, dataset) is not None

    def snapshots(self, dataset: str, *, run: str | None = None) -> list[dict[str, Any]]:
        """The snapshots of one run by step.

        Raises:
            NotFound: the dataset or the run has none.
        """
        with self._store.read() as session:
            _, taken = all_of(session, dataset, run)
            return [entry_json(one) for one in taken]

    def skipped(self, dataset: str, *, run: str | None = None) -> list[dict[str, Any]]:
        """Snapshots that were due but not taken: ``[{"step", "reason"}]``.

        Raises:
            NotFound: the dataset or the run has no snapshots at all.
        """
        with self._store.read() as session:
            return snapshots.skipped(session, run_of(session, dataset, run))

    def snapshot(
        self, dataset: str, step: int | str, *, run: str | None = None, finished: bool = False, **asked: Any
    ) -> dict[str, Any]:
        """One snapshot with its examples.

        Args:
            dataset: plain name.
            step: a step, or ``latest``, ``first``, ``best`` (highest accuracy, then lowest loss).
            run: which run; default the newest.
            finished: whether ``examples`` are to be finished JSON for ``orjson``, which spares the parsing.
            asked: which examples in which order: the fields of ``PageAsked``.
        Raises:
            NotFound: no such dataset, run or step; the hint names the nearest steps.
            InvalidRequest: an unknown sort or filter.
        """
        wish = PageAsked(**asked)
        with self._store.read() as session:
            run_id = run_of(session, dataset, run)
            chosen = snapshot_of(session, run_id, dataset, step)
            probes = self._shelf.of(session, chosen.probe_set)
            rows = matching(session, chosen, probes, wish, self._search)
            tell = finished_examples if finished and not wish.is_short else partial(page_of, asked=wish)
            examples = tell(session, chosen, probes, rows=rows[wish.page])
            before, after = snapshots.steps_beside(session, run_id, dataset=dataset, step=chosen.step)
        return {
            "snapshot_id": f"{dataset}_step_{chosen.step:06d}",
            "training_step": chosen.step,
            **facts(chosen),
            "dataset": dataset,
            "run": run_id,
            "task": chosen.task,
            "probe_set": chosen.probe_set,
            "examples": examples,
            "summary": summary(chosen),
            "total": len(rows),
            "offset": wish.offset,
            "limit": wish.limit,
            "previous_step": before,
            "next_step": after,
        }

    def examples(self, dataset: str, *, run: str | None = None, **asked: Any) -> dict[str, Any]:
        """The probes with what became of each; ``asked`` are the fields of ``ExamplesAsked``.

        Raises:
            NotFound: no such dataset, run or step.
            InvalidRequest: an unknown category or sort, or a step that asked other probes.
        """
        wish = ExamplesAsked(**asked)
        with self._store.read() as session:
            followed, found = self._listed(session, dataset, run, wish)
        return examples_json(dataset, followed, wish, found)

    def dynamics(self, dataset: str, *, run: str | None = None) -> dict[str, Any]:
        """Where all probes stand between learned and not, and what each snapshot changed.

        Raises:
            NotFound: no such dataset or run.
        """
        with self._store.read() as session:
            followed = self._desk.follow(session, dataset, run)
        return dynamics_json(dataset, followed)

    def example(
        self, dataset: str, example_id: str, *, run: str | None = None, **asked: Any
    ) -> dict[str, Any]:
        """One probe's way through all snapshots of a run, and its place in a list.

        ``trajectory`` is finished JSON, which ``orjson`` takes as it is.

        Args:
            dataset: plain name.
            example_id: which probe.
            run: default the newest.
            asked: the list that ``previous``, ``next``, ``place`` and ``total`` are of: fields of
                ``ExamplesAsked``; without any, or where the probe is not in it, all probes as they are asked.
        Raises:
            NotFound: no such dataset, run, step or example; the hint names similar ids.
            InvalidRequest: as ``examples``.
        """
        wish = ExamplesAsked(**asked)
        with self._store.read() as session:
            run_id = run_of(session, dataset, run)
            newest = snapshot_of(session, run_id, dataset, "latest")
            probes = self._shelf.of(session, newest.probe_set)
            row = probes.row_of.get(example_id)
            if row is None:
                raise no_example(dataset, example_id, probes.ids)
            way = snapshots.answers_over_time(
                session, run_id, dataset=dataset, probe_set=newest.probe_set, row=row
            )
            order = None if wish == ExamplesAsked() else self._listed(session, dataset, run_id, wish)[1].rows
        probe, fronts = probes.examples[row], [front_of(line) for _, line in way]
        return {
            "dataset": dataset,
            "run": run_id,
            "task": newest.task,
            **{name: probe.get(name) for name in PROBE},
            "index": row,
            **standing_of(
                [moment.step for moment, _ in way],
                [one["exact_match"] for one in fronts],
                [one["loss"] for one in fronts],
            ),
            "trajectory": finished_way(probes, row, way),
            **_beside(probes, row, order),
        }

    def compare(
        self,
        dataset: str,
        first: int | str,
        second: int | str,
        *,
        run: str | None = None,
        run_to: str | None = None,
        sort: str | None = None,
    ) -> dict[str, Any]:
        """What changed between two snapshots: ``fixed``, ``broken``, ``still_right``, ``still_wrong``.

        Args:
            dataset: plain name.
            first: step of ``run``, a number or ``latest``, ``first``, ``best``.
            second: step of ``run_to``.
            run: default the newest.
            run_to: default the same run.
            sort: order inside each list; default the largest change of the loss first.
        Raises:
            NotFound: no such dataset, run or step.
            InvalidRequest: the two snapshots asked different probes, or an unknown sort.
        """
        with self._store.read() as session:
            return comparison(session, self._shelf, dataset, first, second, run=run, run_to=run_to, sort=sort)

    def _listed(
        self, session: Session, dataset: str, run: str | None, wish: ExamplesAsked
    ) -> tuple[Followed, Listed]:
        followed = self._desk.follow(session, dataset, run, step=wish.step)
        found = self._search.rows(session, followed.moment, followed.probes, wish.q)
        return followed, listed(followed, wish, found)


def _beside(probes: Probes, row: int, order: NDArray[np.intp] | None) -> dict[str, Any]:
    """Where a probe stands in a list, and which are before and after it."""
    rows = range(len(probes.ids)) if order is None or row not in order else order.tolist()
    place = rows.index(row)
    return {
        "previous": probes.ids[rows[place - 1]] if place > 0 else None,
        "next": probes.ids[rows[place + 1]] if place + 1 < len(rows) else None,
        "place": place,
        "total": len(rows),
    }
