"""``datasets inspect FILE``: columns, what it can be, first rows, figures, and what is wrong with it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from trainer.cli.bounds import add_bounds, bind
from trainer.cli.columns import add_column_option, columns_of
from trainer.datasets.inspection import Wish, inspect
from trainer.datasets.kinds.registry import kinds
from trainer.datasets.records import DatasetError
from trainer.datasets.token_counts import token_counter


def add_parser(actions: Any) -> None:
    """Add ``inspect`` to ``python -m trainer datasets``."""
    parser = actions.add_parser("inspect", help="show a file's columns, first rows, figures, what is wrong")
    parser.add_argument("file", metavar="FILE")
    add_wish(parser)
    parser.add_argument("--quick", action="store_true", help="look at the first thousand rows only")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_bounds(parser)
    parser.set_defaults(main=main)


def add_wish(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what a file shall be."""
    parser.add_argument("--kind", choices=list(kinds()), default="", help="default: what suggests itself")
    add_column_option(parser)
    parser.add_argument("--tokenizer", metavar="FILE", help="a tokenizer.json: lengths in tokens too")


def main(arguments: argparse.Namespace) -> int:
    """0 when the file can be trained on, 1 when not."""
    bind(arguments)
    report = report_of(arguments, is_quick=arguments.quick)
    if arguments.json:
        print(json.dumps(report))
    else:
        print("\n".join(lines_of(report)), file=sys.stdout if report["check"]["ok"] else sys.stderr)
    return 0 if report["check"]["ok"] else 1


def report_of(arguments: argparse.Namespace, *, is_quick: bool = False) -> dict[str, Any]:
    """Inspect as the command line asks; a file of which nothing can be told has nothing but its ``check``."""
    path = Path(arguments.file).resolve()
    columns = columns_of(arguments.columns) if arguments.columns else None
    try:
        counter = token_counter(Path(arguments.tokenizer)) if arguments.tokenizer else None
        wish = Wish(kind=arguments.kind, columns=columns, is_quick=is_quick, count_tokens=counter)
        return inspect(path, _silent, wish)
    except DatasetError as exc:
        error = str(exc)
    except MemoryError:
        error = f"{path}: does not fit into the memory allowed for checking; split it into parts"
    return {"path": str(path), "kind": None, "mapping": {}, "check": {"ok": False, "error": error}}


def lines_of(report: dict[str, Any]) -> list[str]:
    """The report for a person."""
    check = report["check"]
    lines = [f"{report['path']}: {report.get('format', 'unreadable')}"]
    lines += [
        f"  column {column['name']!r}: {column['type']}, {column['filled_share']:.0%} filled"
        for column in report.get("columns", [])
    ]
    if report["kind"]:
        mapping = ", ".join(f"{role} = {column!r}" for role, column in report["mapping"].items() if column)
        lines.append(f"  {kinds()[report['kind']].title.lower()}: {mapping}")
    lines += _figures(report.get("statistics") or {})
    if check["ok"] and "num_rows" in check:
        groups = f" in {check['num_groups']:,} groups" if check["num_groups"] else ""
        lines.append(
            f"  can be trained on: {check['num_rows']:,} rows{groups}, content {check['content_hash'][:12]}"
        )
    elif not check["ok"]:
        lines.append(f"error: {check['error']}")
    return lines


def _figures(statistics: dict[str, Any]) -> list[str]:
    lines = []
    for role, units in statistics.get("lengths", {}).items():
        for unit, found in units.items():
            shares = ", ".join(f"{name} {found[name]:,.0f}" for name in ("p50", "p95", "p99", "max"))
            lines.append(f"  {role}, {unit}: {shares}")
    for role, repeated in statistics.get("duplicates", {}).items():
        if repeated["count"]:
            lines.append(
                f"  duplicates by {role}: {repeated['count']:,} (lines {_places(repeated['lines'])})"
            )
    for role, empty in statistics.get("empty", {}).items():
        if empty["count"]:
            lines.append(f"  {role} empty: {empty['count']:,} (lines {', '.join(map(str, empty['lines']))})")
    labels = statistics.get("labels")
    if labels:
        most = ", ".join(f"{one['label']!r} {one['count']:,}" for one in labels["most"][:8])
        lines.append(f"  {labels['count']:,} labels: {most}")
    return lines


def _places(pairs: list[list[int]]) -> str:
    return ", ".join(f"{first} and {second}" for first, second in pairs)


def _silent(detail: str, fraction: float) -> None:
    """The answer comes whole."""
