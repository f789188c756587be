"""Two snapshots side by side, of one run or of two: what was fixed, what broke, what stayed as it was."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy.orm import Session

from app.errors import InvalidRequest
from app.services.evolution_choice import run_of, snapshot_of
from app.services.evolution_examples import examples_of
from app.services.evolution_probes import ProbeShelf
from app.services.evolution_shapes import PROBE, beside, facts, summary
from app.store.models import Snapshot

OUTCOMES: Final = ("fixed", "broken", "still_right", "still_wrong")
SORTS: Final = ("change", "loss", "rank", "index", "example_id")
_OUTCOME_OF: Final = {
    (False, True): "fixed",
    (True, False): "broken",
    (True, True): "still_right",
    (False, False): "still_wrong",
}


def comparison(
    session: Session,
    shelf: ProbeShelf,
    dataset: str,
    first: int | str,
    second: int | str,
    *,
    run: str | None,
    run_to: str | None,
    sort: str | None,
) -> dict[str, Any]:
    """What changed from one snapshot to another.

    Raises:
        NotFound: no such dataset, run or step.
        InvalidRequest: the two asked different probes, or an unknown sort.
    """
    run_id = run_of(session, dataset, run)
    other_run = run_id if run_to is None else run_of(session, dataset, run_to)
    one = snapshot_of(session, run_id, dataset, first)
    other = snapshot_of(session, other_run, dataset, second)
    if one.probe_set != other.probe_set:
        raise _different(one, other)
    probes = shelf.of(session, one.probe_set)
    outcomes: dict[str, list[dict[str, Any]]] = {name: [] for name in OUTCOMES}
    pairs = zip(examples_of(session, one, probes), examples_of(session, other, probes), strict=True)
    for before, after in pairs:
        outcome = _OUTCOME_OF[bool(before["exact_match"]), bool(after["exact_match"])]
        outcomes[outcome].append(_entry(before, after))
    counts = {name: len(entries) for name, entries in outcomes.items()}
    changes = [entry["change"] or 0.0 for entries in outcomes.values() for entry in entries]
    return {
        "dataset": dataset,
        "run": run_id,
        "run_to": other_run,
        "task": other.task,
        "sentence": _sentence(counts, one, other),
        "from": {"step": one.step, "run": run_id, **facts(one), "summary": summary(one)},
        "to": {"step": other.step, "run": other_run, **facts(other), "summary": summary(other)},
        "counts": counts,
        "losses": {"fell": sum(one < 0 for one in changes), "rose": sum(one > 0 for one in changes)},
        **{name: _sorted(entries, sort) for name, entries in outcomes.items()},
    }


def rows_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    """A comparison as flat rows, one per example, the two answers beside each other."""
    return [
        {
            "outcome": outcome,
            **{name: entry[name] for name in (*PROBE, "change")},
            **{f"from_{name}": value for name, value in entry["from"].items()},
            **{f"to_{name}": value for name, value in entry["to"].items()},
        }
        for outcome in OUTCOMES
        for entry in found[outcome]
    ]


def _entry(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    losses = before["loss"], after["loss"]
    return {
        **{name: after[name] for name in PROBE},
        "change": None if None in losses else losses[1] - losses[0],
        "from": beside(before),
        "to": beside(after),
    }


def _sentence(counts: dict[str, int], one: Snapshot, other: Snapshot) -> str:
    told = ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in OUTCOMES)
    if one.run_id == other.run_id:
        return f"{told} between step {one.step:,} and step {other.step:,}."
    return (
        f"{told} between step {one.step:,} of run {one.run_id} and step {other.step:,} of run {other.run_id}."
    )


def _sorted(entries: list[dict[str, Any]], sort: str | None) -> list[dict[str, Any]]:
    """Without a wish the largest change comes first, whichever way; missing values come last."""
    is_falling, name = (sort or "").startswith("-"), (sort or "").removeprefix("-")
    if sort and name not in SORTS:
        raise InvalidRequest(f"sort must be one of {', '.join(SORTS)}, got {name[:40]!r}", field="sort")

    def key(entry: dict[str, Any]) -> Any:
        if not sort:
            return None if entry["change"] is None else abs(entry["change"])
        return entry["to"].get(name) if name in ("loss", "rank") else entry[name]

    present = [entry for entry in entries if key(entry) is not None]
    missing = [entry for entry in entries if key(entry) is None]
    return sorted(present, key=key, reverse=is_falling or not sort) + missing


def _different(one: Snapshot, other: Snapshot) -> InvalidRequest:
    if one.run_id == other.run_id:
        return InvalidRequest(
            f"Steps {one.step} and {other.step} asked different probes.",
            field="from",
            hint="Compare steps between which the fixed examples were not changed.",
        )
    return InvalidRequest(
        f"Runs {one.run_id} and {other.run_id} asked different probes.",
        field="run_to",
        hint="Two runs compare when they have the same dataset, version and number of probes.",
    )
