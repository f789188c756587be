"""``datasets overlap TRAIN VALIDATION``: whether what is measured on has been trained on."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from trainer.cli.bounds import add_bounds, bind
from trainer.cli.columns import add_column_option, columns_of
from trainer.cli.datasets_named import registered
from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.datasets.kinds.declaration import DatasetKind
from trainer.datasets.kinds.registry import kinds
from trainer.datasets.overlap import overlap
from trainer.datasets.records import DatasetError
from trainer.protocol.dataset_shelf import DatasetVersion


def add_parser(actions: Any) -> None:
    """Add ``overlap`` to ``python -m trainer datasets``."""
    parser = actions.add_parser(
        "overlap", help="count texts of a validation file that are in a training file"
    )
    parser.add_argument("train", metavar="TRAIN", help="a file, or a registered dataset")
    parser.add_argument("validation", metavar="VALIDATION", help="a file, or a registered dataset")
    parser.add_argument(
        "--kind", choices=list(kinds()), default="", help="default: that of the registered one"
    )
    add_column_option(parser)
    parser.add_argument(
        "--validation-column",
        action="append",
        default=[],
        metavar="ROLE=NAME",
        dest="validation_columns",
        help="the same for VALIDATION, where its columns are called otherwise",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_bounds(parser)
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when they share nothing, 1 when they do or cannot be read."""
    versions = [registered(instance() / "datasets", one) for one in (arguments.train, arguments.validation)]
    kind = _kind(arguments.kind, [version.kind for version in versions if version is not None])
    columns = columns_of(arguments.columns, kind_names=[kind.name])
    validation_columns = columns_of(arguments.validation_columns, kind_names=[kind.name]) or columns
    bind(arguments)
    try:
        found = overlap(
            _path(arguments.train, versions[0]),
            _path(arguments.validation, versions[1]),
            kind=kind,
            columns=columns or _columns(versions[0]),
            validation_columns=validation_columns or _columns(versions[1]),
            tell=lambda detail, fraction: None,
        )
    except (DatasetError, MemoryError) as exc:
        error = str(exc) or "the files do not fit into the memory allowed"
        print(json.dumps({"error": error}) if arguments.json else f"error: {error}")
        return 1
    print(json.dumps(found) if arguments.json else _words(found))
    return 1 if any(shared["count"] for shared in found["shared"].values()) else 0


def _kind(asked: str, known: list[str]) -> DatasetKind:
    if not asked and not known:
        raise UsageError(f"--kind: which one? {', '.join(kinds())}")
    return kinds()[asked or known[0]]


def _path(wanted: str, version: DatasetVersion | None) -> Path:
    return Path(version.path) if version is not None else Path(wanted).resolve()


def _columns(version: DatasetVersion | None) -> dict[str, str]:
    return dict(version.columns) if version is not None else {}


def _words(found: dict[str, Any]) -> str:
    rows = found["rows"]
    lines = [f"{rows['train']:,} rows to train on, {rows['validation']:,} to validate on"]
    for role, shared in found["shared"].items():
        lines.append(
            f"  {role}: {shared['count']:,} of the validation rows are in training ({shared['share']:.1%})"
        )
        lines += [
            f"    line {one['train']} and {one['validation']}: {one['text']!r}"
            for one in shared["examples"][:3]
        ]
    return "\n".join(lines)
