"""``export-evolution DATASET``: snapshots as the original's files, or as one HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from app.config import Settings
from app.errors import Conflict, InvalidRequest
from app.services.evolution import Evolution
from app.services.evolution_export import export_tree
from app.services.evolution_html import comparison_page, snapshot_page
from app.store.engine import Store
from trainer.protocol.files import write_atomic


def add_parser(commands: Any) -> None:
    """Add the command to ``python -m app``."""
    parser = commands.add_parser(
        "export-evolution", help="write evolution snapshots as step_NNNNNN.json, or as one HTML page"
    )
    parser.add_argument("dataset", metavar="DATASET", help="its plain name, as the evolution page says it")
    parser.add_argument("dir", metavar="DIR", nargs="?", type=Path, help="the files go to DIR/DATASET")
    parser.add_argument("--run", metavar="ID", help="which run; default: the newest of the dataset")
    parser.add_argument("--replace", action="store_true", help="write over files of other content")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page instead")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--step", metavar="STEP", help="with --html: a step, first, latest (default) or best")
    shown.add_argument("--compare", nargs=2, metavar=("A", "B"), help="with --html: two steps side by side")
    parser.set_defaults(main=main)


def take_late(options: argparse.Namespace, late: list[str]) -> bool:
    """Whether what argparse could not place is DIR, which it does not expect any more after an option."""
    if options.dir is not None or len(late) != 1 or late[0].startswith("-"):
        return False
    options.dir = Path(late[0])
    return True


def main(settings: Settings, options: argparse.Namespace) -> int:
    """0 when it is written."""
    store = Store(settings.database_url)  # only read: its writer is not started
    try:
        if options.html is not None:
            return _write_page(store, options)
        return _write_tree(store, options)
    finally:
        store.close()


def _write_tree(store: Store, options: argparse.Namespace) -> int:
    if options.dir is None:
        raise InvalidRequest("say where to write: DIR for files, or --html FILE for a page", field="DIR")
    if options.step is not None or options.compare is not None:
        raise InvalidRequest("--step and --compare go with --html", field="--html")
    done = export_tree(store, options.dataset, options.dir, run=options.run, replace=options.replace)
    unchanged = f", {done.num_unchanged} were there already" if done.num_unchanged else ""
    print(f"{done.num_written} snapshots of run {done.run_id} written to {done.folder}{unchanged}")
    return 0


def _write_page(store: Store, options: argparse.Namespace) -> int:
    if options.dir is not None:
        raise InvalidRequest("name a folder for files or --html FILE for a page, not both", field="DIR")
    evolution = Evolution(store)
    if options.compare is not None:
        first, second = options.compare
        page = comparison_page(evolution.compare(options.dataset, first, second, run=options.run))
    else:
        page = snapshot_page(evolution.snapshot(options.dataset, options.step or "latest", run=options.run))
    content = page.encode()
    if options.html.exists() and not options.replace and options.html.read_bytes() != content:
        raise Conflict(f"{options.html} is there already.", hint="Say --replace to write over it.")
    write_atomic(options.html, content)
    print(f"{options.html}: {len(content):,} bytes, to be opened by any browser")
    return 0
