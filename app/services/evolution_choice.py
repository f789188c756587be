"""Which run and which snapshot somebody means, and what there is instead when there is none."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from sqlalchemy.orm import Session

from app.errors import NotFound
from app.services.evolution_shapes import asked_alike, merit
from app.store import runs, snapshots
from app.store.models import Snapshot
from app.store.snapshots import Moment

_NEAREST: Final = 4


def run_of(session: Session, dataset: str, run: str | None) -> str:
    """The run that is meant: the one named, or the newest with snapshots of ``dataset``.

    Raises:
        NotFound: no run has snapshots of it, or not this one; the hint names those that have.
    """
    if run is None:
        newest = snapshots.newest_run(session, dataset)
        if newest is not None:
            return newest
    elif snapshots.has_snapshots(session, run, dataset):
        return run
    known: dict[str, list[str]] = {}
    for name, run_id, _ in snapshots.dataset_runs(session):
        known.setdefault(name, []).append(run_id)
    if dataset not in known:
        near = get_close_matches(dataset, known, cutoff=0.3)
        hint = f"Similar: {', '.join(near)}." if near else f"There are: {', '.join(sorted(known)[:5])}."
        hint = hint if known else "No run has taken a snapshot yet."
        raise NotFound(f"No dataset {dataset!r} has snapshots.", hint=hint)
    runs.get_run(session, str(run))
    raise NotFound(
        f"Run {run} has no snapshots of {dataset!r}.",
        hint=f"Runs that have: {', '.join(known[dataset][:5])}.",
    )


def all_of(session: Session, dataset: str, run: str | None) -> tuple[str, list[Snapshot]]:
    """The run meant, and its snapshots by step; at least one.

    Raises:
        NotFound: as ``run_of``, or none of its snapshots still counts.
    """
    run_id = run_of(session, dataset, run)
    taken = snapshots.list_snapshots(session, run_id, dataset=dataset)
    if not taken:
        raise _none_counts(run_id, dataset)
    return run_id, taken


def comparable(session: Session, dataset: str, run: str | None) -> tuple[str, list[Moment]]:
    """The run meant, and those of its snapshots that asked the probes its newest one asked, by step.

    Raises:
        NotFound: as ``all_of``.
    """
    run_id = run_of(session, dataset, run)
    taken = snapshots.moments(session, run_id, dataset=dataset)
    if not taken:
        raise _none_counts(run_id, dataset)
    return run_id, asked_alike(taken)


def snapshot_of(session: Session, run_id: str, dataset: str, step: int | str) -> Snapshot:
    """The snapshot at a step, the ``latest``, or the ``first`` or ``best`` that asked what the latest asked.

    Raises:
        NotFound: there is none; the hint names the nearest steps.
    """
    if step == "latest":
        newest = snapshots.latest(session, run_id, dataset=dataset)
        if newest is None:
            raise _none_counts(run_id, dataset)
        return newest
    if step in ("first", "best"):
        taken = snapshots.list_snapshots(session, run_id, dataset=dataset)
        if not taken:
            raise _none_counts(run_id, dataset)
        alike = asked_alike(taken)
        return alike[0] if step == "first" else max(alike, key=merit)
    text = str(step)
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise NotFound(f"{text[:40]!r} is no step.", hint="Write a whole number, latest, first or best.")
    wanted = int(text)
    found = snapshots.at_step(session, run_id, dataset=dataset, step=wanted)
    if found is None:
        steps = [one.step for one in snapshots.moments(session, run_id, dataset=dataset)]
        raise NotFound(
            f"{dataset} has no snapshot at step {wanted}.", hint=f"The nearest are: {_near(steps, wanted)}."
        )
    return found


def no_example(dataset: str, example_id: str, ids: Iterable[str]) -> NotFound:
    """The error for an example that does not exist; its hint names similar ones."""
    known = list(ids)
    near = get_close_matches(example_id, known, cutoff=0) or known[:3]
    return NotFound(f"{dataset} has no example {example_id[:200]!r}.", hint=f"Similar: {', '.join(near)}.")


def _none_counts(run_id: str, dataset: str) -> NotFound:
    return NotFound(f"Run {run_id} has no snapshots of {dataset!r} that still count.")


def _near(steps: list[int], wanted: int) -> str:
    nearest = sorted(sorted(steps, key=lambda step: abs(step - wanted))[:_NEAREST])
    return ", ".join(str(step) for step in nearest)
