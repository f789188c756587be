"""How a model's answers to fixed probes change over training.

Addresses name datasets by their plain name.  Without a run, the newest run of
the dataset that has snapshots is meant.  Every number is JSON-safe: what is
not finite is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

import numpy as np
from sqlalchemy.orm import Session

from app.errors import InvalidRequest, NotFound
from app.services.evolution_examples import examples_of, finite, is_correct
from app.services.evolution_shapes import (
    beside,
    dataset_json,
    entry_json,
    facts,
    history,
    merit,
    neighbours,
    summary,
)
from app.store import runs, snapshots
from app.store.engine import Store
from app.store.models import Snapshot

SORTS: Final = (
    "index", "loss", "similarity", "score", "rank", "margin", "output_length", "example_id", "exact_match",
)  # fmt: skip
_PROBE: Final = ("example_id", "index", "input", "expected_output", "group")
FILTERS: Final = ("all", "correct", "incorrect")


class Evolution:
    """Reads snapshots as lists, single ones, trajectories and comparisons."""

    def __init__(self, store: Store) -> None:
        self._store = store

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

    def snapshots(self, dataset: str, *, run: str | None = None) -> list[dict[str, Any]]:
        """The snapshots of one run by step.

        Raises:
            NotFound: the dataset or the run has none.
        """
        with self._store.read() as session:
            _, taken = _taken(session, dataset, run)
            return [entry_json(one) for one in taken]

    def skipped(self, dataset: str, *, run: str | None = None) -> list[dict[str, Any]]:
        """Snapshots that were due but not taken: ``[{"step", "reason"}]``.

        Raises:
            NotFound: the dataset or the run has no snapshots at all.
        """
        with self._store.read() as session:
            run_id, _ = _taken(session, dataset, run)
            return snapshots.skipped(session, run_id)

    def snapshot(
        self,
        dataset: str,
        step: int | str,
        *,
        run: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        sort: str | None = None,
        filter: str = "all",  # noqa: A002 - the name of the query parameter
        q: str | None = None,
    ) -> dict[str, Any]:
        """One snapshot with its examples.

        Args:
            dataset: plain name.
            step: a step, or ``latest``, ``first``, ``best`` (highest accuracy, then lowest loss).
            run: which run; default the newest.
            limit: examples per page; None for all.
            offset: examples to leave out first.
            sort: one of ``SORTS``, with ``-`` in front for falling order; missing values come last.
            filter: ``all``, ``correct`` or ``incorrect``.
            q: text looked for in input, expected and model output, without regard to case.
        Raises:
            NotFound: no such dataset, run or step; the hint names the nearest steps.
            InvalidRequest: an unknown sort or filter.
        """
        with self._store.read() as session:
            run_id, taken = _taken(session, dataset, run)
            chosen = _choose(taken, step, dataset=dataset)
            examples = _matching(examples_of(session, chosen), filter, q)
            examples = _sorted(examples, sort)
            stop = None if limit is None else offset + limit
            return {
                "snapshot_id": f"{dataset}_step_{chosen.step:06d}",
                "training_step": chosen.step,
                **facts(chosen),
                "dataset": dataset,
                "run": run_id,
                "task": chosen.task,
                "probe_set": chosen.probe_set,
                "examples": examples[offset:stop],
                "summary": summary(chosen),
                "total": len(examples),
                "offset": offset,
                "limit": limit,
                **neighbours(taken, chosen),
            }

    def examples(
        self,
        dataset: str,
        *,
        run: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        q: str | None = None,
    ) -> dict[str, Any]:
        """The probes with what became of each: ``learned``, ``struggling``, ``lost`` or ``never``.

        Raises:
            NotFound: no such dataset or run.
        """
        with self._store.read() as session:
            run_id, taken = _taken(session, dataset, run)
            taken = [one for one in taken if one.probe_set == taken[-1].probe_set]
            probes = snapshots.examples(session, taken[-1].probe_set)
            columns = snapshots.columns(session, [one.id for one in taken])
        right = np.stack([is_correct(columns[one.id], one) for one in taken])
        missing = np.full(len(probes), np.nan)
        losses = np.stack([columns[one.id].get("loss", missing) for one in taken])
        steps = [one.step for one in taken]
        found = [
            {
                "example_id": probe["example_id"],
                "index": row,
                "input": probe["input"],
                "expected_output": probe["expected_output"],
                "group": probe.get("group"),
                "first_loss": finite(float(losses[0, row])),
                "last_loss": finite(float(losses[-1, row])),
                **history(right[:, row], steps),
            }
            for row, probe in enumerate(probes)
            if not q or q.casefold() in f"{probe['input']}\n{probe['expected_output']}".casefold()
        ]
        categories = [entry["category"] for entry in found]
        return {
            "dataset": dataset,
            "run": run_id,
            "steps": steps,
            "counts": {name: categories.count(name) for name in ("learned", "struggling", "lost", "never")},
            "total": len(found),
            "offset": offset,
            "limit": limit,
            "examples": found[offset : None if limit is None else offset + limit],
        }

    def example(self, dataset: str, example_id: str, *, run: str | None = None) -> dict[str, Any]:
        """One probe's way through all snapshots of a run.

        Raises:
            NotFound: no such dataset, run or example; the hint names similar ids.
        """
        with self._store.read() as session:
            run_id, taken = _taken(session, dataset, run)
            taken = [one for one in taken if one.probe_set == taken[-1].probe_set]
            ids = [str(probe["example_id"]) for probe in snapshots.examples(session, taken[-1].probe_set)]
            if example_id not in ids:
                near = get_close_matches(example_id, ids, cutoff=0) or ids[:3]
                raise NotFound(
                    f"{dataset} has no example {example_id!r}.", hint=f"Similar: {', '.join(near)}."
                )
            row = ids.index(example_id)
            way = []
            for one in taken:
                (answer,) = examples_of(session, one, rows=[row])
                way.append({"step": one.step, **facts(one), **beside(answer)})
        right = np.array([point["exact_match"] for point in way])
        return {
            "dataset": dataset,
            "run": run_id,
            **{name: answer[name] for name in _PROBE},
            **history(right, [one.step for one in taken]),
            "trajectory": way,
            "previous": ids[row - 1] if row > 0 else None,
            "next": ids[row + 1] if row + 1 < len(ids) else None,
        }

    def compare(
        self, dataset: str, first: int | str, second: int | str, *, run: str | None = None
    ) -> dict[str, Any]:
        """What changed between two steps: ``fixed``, ``broken``, ``still_right``, ``still_wrong``.

        Raises:
            NotFound: no such dataset, run or step.
            InvalidRequest: the two snapshots asked different probes.
        """
        with self._store.read() as session:
            run_id, taken = _taken(session, dataset, run)
            one, other = _choose(taken, first, dataset=dataset), _choose(taken, second, dataset=dataset)
            if one.probe_set != other.probe_set:
                raise InvalidRequest(
                    f"Steps {one.step} and {other.step} asked different probes.", field="from"
                )
            pairs = list(zip(examples_of(session, one), examples_of(session, other), strict=True))
        groups: dict[str, list[dict[str, Any]]] = {name: [] for name in _GROUPS.values()}
        for before, after in pairs:
            groups[_GROUPS[before["exact_match"], after["exact_match"]]].append(
                {
                    **{
                        name: after[name]
                        for name in ("example_id", "index", "input", "expected_output", "group")
                    },
                    "from": beside(before),
                    "to": beside(after),
                }
            )
        return {
            "dataset": dataset,
            "run": run_id,
            "from": {"step": one.step, **facts(one), "summary": summary(one)},
            "to": {"step": other.step, **facts(other), "summary": summary(other)},
            "counts": {name: len(entries) for name, entries in groups.items()},
            **groups,
        }


def _taken(session: Session, dataset: str, run: str | None) -> tuple[str, list[Snapshot]]:
    """The run meant, and its snapshots by step; at least one."""
    known: dict[str, list[str]] = {}
    for name, run_id, _ in snapshots.dataset_runs(session):
        known.setdefault(name, []).append(run_id)
    if dataset not in known:
        near = get_close_matches(dataset, known, cutoff=0.3) or sorted(known)[:5]
        hint = f"There are: {', '.join(near)}." if near else "No run has taken a snapshot yet."
        raise NotFound(f"No dataset {dataset!r} has snapshots.", hint=hint)
    run_id = known[dataset][0] if run is None else run
    if run_id not in known[dataset]:
        runs.get_run(session, run_id)
        raise NotFound(
            f"Run {run_id} has no snapshots of {dataset!r}.",
            hint=f"Runs that have: {', '.join(known[dataset][:5])}.",
        )
    taken = snapshots.list_snapshots(session, run_id, dataset=dataset)
    if not taken:
        raise NotFound(f"Run {run_id} has no snapshots of {dataset!r} that still count.")
    return run_id, taken


def _choose(taken: Sequence[Snapshot], step: int | str, *, dataset: str) -> Snapshot:
    named = {"latest": taken[-1], "first": taken[0], "best": max(taken, key=merit)}
    if isinstance(step, str) and step in named:
        return named[step]
    text = str(step)
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise NotFound(f"{text[:40]!r} is no step.", hint="Write a whole number, latest, first or best.")
    wanted = int(text)
    for one in taken:
        if one.step == wanted:
            return one
    nearest = sorted(sorted(taken, key=lambda one: abs(one.step - wanted))[:4], key=lambda one: one.step)
    listing = ", ".join(str(one.step) for one in nearest)
    raise NotFound(f"{dataset} has no snapshot at step {wanted}.", hint=f"The nearest are: {listing}.")


def _matching(examples: list[dict[str, Any]], chosen: str, q: str | None) -> list[dict[str, Any]]:
    if chosen not in FILTERS:
        raise InvalidRequest(f"filter must be one of {', '.join(FILTERS)}, got {chosen!r}", field="filter")
    if chosen != "all":
        examples = [one for one in examples if one["exact_match"] == (chosen == "correct")]
    if q:
        sought = q.casefold()
        texts = ("input", "expected_output", "model_output", "example_id")
        examples = [one for one in examples if any(sought in str(one[name]).casefold() for name in texts)]
    return examples


def _sorted(examples: list[dict[str, Any]], sort: str | None) -> list[dict[str, Any]]:
    if not sort:
        return examples
    falling, column = sort.startswith("-"), sort.removeprefix("-")
    if column not in SORTS:
        raise InvalidRequest(f"sort must be one of {', '.join(SORTS)}, got {column!r}", field="sort")
    present = [one for one in examples if one.get(column) is not None]
    missing = [one for one in examples if one.get(column) is None]
    return sorted(present, key=lambda one: one[column], reverse=falling) + missing


_GROUPS: Final = {
    (False, True): "fixed",
    (True, False): "broken",
    (True, True): "still_right",
    (False, False): "still_wrong",
}
