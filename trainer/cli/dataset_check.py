"""``datasets check FILE``: whether a file can be trained on, within bounds of memory and time."""

from __future__ import annotations

import argparse
import json
import resource
import sys
from pathlib import Path
from typing import Any, Final

from trainer.datasets.checking import check
from trainer.datasets.records import DatasetError

_GIB: Final = 1024**3


def add_parser(actions: Any) -> None:
    """Add ``check`` to ``python -m trainer datasets``."""
    parser = actions.add_parser("check", help="read a file as training would, and say what is wrong with it")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--max-memory-gib", type=float, metavar="N", help="give up beyond it")
    parser.add_argument("--max-cpu-s", type=int, metavar="N", help="give up beyond it")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when the file can be trained on, 1 when not."""
    if arguments.max_memory_gib is not None:
        _limit(resource.RLIMIT_AS, int(arguments.max_memory_gib * _GIB))
    if arguments.max_cpu_s is not None:
        _limit(resource.RLIMIT_CPU, arguments.max_cpu_s)
    path = Path(arguments.file)
    answer: dict[str, Any]
    try:
        answer = {"ok": True, **check(path, lambda detail, fraction: None).to_json()}
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
        counts = f"{answer['num_pairs']:,} pairs of {answer['kind']} in {answer['num_groups']:,} groups"
        print(f"{path}: {counts}, sha256 {answer['sha256']}")
    else:
        print(f"error: {answer['error']}", file=sys.stderr)
    return 0 if answer["ok"] else 1


def _limit(what: int, value: int) -> None:
    """Lower a limit of this process; one that is lower already stays."""
    _, hard = resource.getrlimit(what)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (bound, hard))
