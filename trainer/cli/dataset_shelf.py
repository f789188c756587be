"""``datasets list`` and ``datasets remove NAME``: what is registered, and taking it off the shelf."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.protocol import dataset_shelf as shelf
from trainer.protocol.dataset_shelf import ShelfError


def add_parser(actions: Any) -> None:
    """Add both to ``python -m trainer datasets``."""
    listing = actions.add_parser("list", help="list the registered datasets with their versions")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    listing.set_defaults(main=_list)
    removing = actions.add_parser("remove", help="move a registered dataset to the trash")
    removing.add_argument("name", metavar="NAME")
    removing.set_defaults(main=_remove)


def _list(arguments: argparse.Namespace) -> int:
    folder = instance() / "datasets"
    found = [version for name in shelf.names(folder) for version in shelf.versions(folder, name)]
    if arguments.json:
        print(json.dumps({"datasets": [version.to_json() for version in found]}))
        return 0
    for version in found:
        trouble = version.trouble()
        note = f" ({trouble})" if trouble else ""
        print(f"{version.label}: {version.num_rows:,} rows, {version.kind}, {version.path}{note}")
    if not found:
        print("nothing is registered; see: python -m trainer datasets register --help", file=sys.stderr)
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    try:
        where = shelf.discard(instance() / "datasets", arguments.name, trash=instance() / "trash")
    except ShelfError as exc:
        raise UsageError(f"NAME: {exc}") from exc
    except OSError as exc:
        raise UsageError(f"{instance()}: cannot be written: {exc.strerror}") from exc
    print(f"{arguments.name}: moved to {where}")
    return 0
