"""``import-evolution DIR``: the original system's snapshot trees, as finished runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from app.config import Settings
from app.services.evolution_import import Outcome, Result, import_tree
from app.store.engine import Store

_SHOWN_PROBLEMS: Final = 10  # of one dataset


def add_parser(commands: Any) -> None:
    """Add the command to ``python -m app``."""
    parser = commands.add_parser(
        "import-evolution", help="take in evolution snapshots of the original system (step_NNNNNN.json)"
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="its evolution_snapshots, or one dataset in it")
    parser.add_argument("--dataset", metavar="NAME", help="the name to take one dataset under")
    parser.add_argument(
        "--replace", action="store_true", help="what has changed since it was imported is replaced"
    )
    parser.set_defaults(main=main)


def main(settings: Settings, options: argparse.Namespace) -> int:
    """0 when every dataset is stored, 1 when one was refused; the database must have the newest schema."""
    store = Store(settings.database_url)
    store.start()
    try:
        outcomes = import_tree(store, options.dir, dataset=options.dataset, replace=options.replace)
    finally:
        store.close()
    for line in _table(outcomes):
        print(line)
    for outcome in outcomes:
        _explain(outcome)
    return 1 if any(one.result is Result.REFUSED for one in outcomes) else 0


def _table(outcomes: list[Outcome]) -> list[str]:
    rows = [("DATASET", "RESULT", "SNAPSHOTS", "RUN")]
    rows += [
        (one.dataset, one.result.value, str(one.num_stored or "-"), one.run_id or "-") for one in outcomes
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]


def _explain(outcome: Outcome) -> None:
    for note in outcome.notes:
        print(f"{outcome.dataset}: {note}")
    for problem in outcome.problems[:_SHOWN_PROBLEMS]:
        print(f"signalbox: {outcome.dataset}/{problem}", file=sys.stderr)
    more = len(outcome.problems) - _SHOWN_PROBLEMS
    if more > 0:
        print(f"signalbox: {outcome.dataset}: and {more} more files", file=sys.stderr)
    if outcome.result is Result.REFUSED:
        print(f"signalbox: nothing of {outcome.dataset} was stored", file=sys.stderr)
