"""``datasets``: the built-in datasets, building one ahead of time, and checking a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from trainer.cli import dataset_check, dataset_inspect, dataset_overlap, dataset_register, dataset_shelf
from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.datasets import python_docs
from trainer.datasets.records import DatasetError
from trainer.recipes.registry import BuiltinDataset, recipes


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("datasets", help="list the built-in datasets, or build one now")
    parser.add_argument("--build", metavar="NAME", help="build this dataset now, so that no run waits for it")
    parser.add_argument("--datasets-dir", metavar="DIR", help="default: datasets in the instance folder")
    parser.set_defaults(main=main)
    actions = parser.add_subparsers(metavar="ACTION")
    for action in (dataset_check, dataset_inspect, dataset_overlap, dataset_register, dataset_shelf):
        action.add_parser(actions)


def main(arguments: argparse.Namespace) -> int:
    """List, or build with its progress on standard error."""
    known: dict[str, BuiltinDataset] = {}
    for recipe in recipes().values():
        known |= {dataset.name: dataset for dataset in recipe.builtin_datasets}
    if arguments.build is None:
        for name, dataset in known.items():
            print(f"{name}: {dataset.title}\n  {dataset.help}")
        return 0
    if arguments.build not in known:
        raise UsageError(f"--build: no dataset {arguments.build!r}; there is {', '.join(known)}")
    folder = Path(arguments.datasets_dir).resolve() if arguments.datasets_dir else instance() / "datasets"
    try:
        pairs = python_docs.load(folder, _tell)
    except DatasetError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 1
    print(f"{arguments.build}: {len(pairs):,} pairs in {folder}")
    return 0


def _tell(detail: str, fraction: float) -> None:
    ending = "\n" if fraction >= 1.0 else ""
    print(f"\r{fraction:4.0%} {detail:<60.60}", end=ending, file=sys.stderr, flush=True)
