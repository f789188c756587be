"""``datasets register FILE``: look a file over in a bounded process and put it on the shelf under a name."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import trainer
from trainer.cli.columns import columns_of
from trainer.cli.dataset_inspect import add_wish, lines_of
from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.protocol import dataset_shelf as shelf
from trainer.protocol.dataset_shelf import DatasetVersion, ShelfError

MAX_CPU_S: Final = 3600
MAX_MEMORY_GIB: Final = 8


def add_parser(actions: Any) -> None:
    """Add ``register`` to ``python -m trainer datasets``."""
    parser = actions.add_parser("register", help="check a file, and give it a name and a version")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--name", required=True, metavar="NAME", help=shelf.NAME_RULE)
    add_wish(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when it is registered, 1 when it cannot be trained on."""
    try:
        shelf.check_name(arguments.name)
    except ShelfError as exc:
        raise UsageError(f"--name: {exc}") from exc
    report = _inspected(arguments)
    if not report["check"]["ok"]:
        print("\n".join(lines_of(report)), file=sys.stderr)
        return 1
    try:
        version = shelf.add(instance() / "datasets", shelf.version_of(arguments.name, report))
    except ShelfError as exc:
        raise UsageError(f"--name: {exc}") from exc
    except OSError as exc:
        raise UsageError(f"{instance()}: cannot be written: {exc.strerror}") from exc
    print(json.dumps(version.to_json()) if arguments.json else _words(version))
    return 0


def _inspected(arguments: argparse.Namespace) -> dict[str, Any]:
    """The report of a process that may read only.

    Raises:
        UsageError: a role does not exist, or the process died without a report.
    """
    columns = [f"--column={role}={name}" for role, name in columns_of(arguments.columns).items()]
    command = [
        *(sys.executable, "-P", "-m", "trainer", "datasets", "inspect", "--json", "--read-only"),
        *(f"--max-memory-gib={MAX_MEMORY_GIB}", f"--max-cpu-s={MAX_CPU_S}"),
        *([f"--kind={arguments.kind}"] if arguments.kind else []),
        *([f"--tokenizer={arguments.tokenizer}"] if arguments.tokenizer else []),
        *(*columns, "--", str(Path(arguments.file).resolve())),
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(trainer.__path__[0]).parent)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError as exc:
        said = done.stderr.strip()[-300:] or f"it ended with code {done.returncode}"
        raise UsageError(f"{arguments.file}: could not be looked over: {said}") from exc
    return report


def _words(version: DatasetVersion) -> str:
    mapping = ", ".join(f"{role} = {column!r}" for role, column in version.columns.items() if column)
    return (
        f"{version.label}: {version.num_rows:,} rows, {version.kind} ({mapping}), "
        f"sha256 {version.sha256[:12]}, {version.path}"
    )
