"""``datasets check FILE``: whether a file can be trained on, within bounds of memory and time."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from trainer.cli.bounds import add_bounds, bind
from trainer.datasets.checking import check
from trainer.datasets.kinds.registry import kinds
from trainer.datasets.records import DatasetError


def add_parser(actions: Any) -> None:
    """Add ``check`` to ``python -m trainer datasets``."""
    parser = actions.add_parser("check", help="read a file as training would, and say what is wrong with it")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        choices=list(kinds()),
        dest="kinds",
        help="what it may be; may be repeated; default: all",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_bounds(parser)
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when the file can be trained on, 1 when not."""
    bind(arguments)
    path = Path(arguments.file)
    answer: dict[str, Any]
    try:
        answer = {
            "ok": True,
            **check(path, lambda detail, fraction: None, kind_names=arguments.kinds).to_json(),
        }
    except DatasetError as exc:
        answer = {"ok": False, "error": str(exc)}
    except MemoryError:
        answer = {
            "ok": False,
            "error": f"{path}: does not fit into the memory allowed for checking; split it into parts",
        }
    if arguments.json:
        print(json.dumps(answer))
    elif answer["ok"]:
        counts = f"{answer['num_pairs']:,} rows, {answer['kind']} in {answer['num_groups']:,} groups"
        print(f"{path}: {counts}, sha256 {answer['sha256']}")
    else:
        print(f"error: {answer['error']}", file=sys.stderr)
    return 0 if answer["ok"] else 1
