"""``doctor``: look for what makes training runs die on this machine."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

from trainer.cli.folders import instance
from trainer.environment.doctor.check import Verdict
from trainer.environment.doctor.runner import Examination
from trainer.environment.doctor.surroundings import Surroundings

WIDTH: Final = 100
INDENT: Final = " " * 10
COLOURS: Final = {"ok": "32", "note": "34", "warning": "33", "problem": "31"}


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("doctor", help="look for what makes training runs die on this machine")
    parser.add_argument("--json", action="store_true", help="one JSON object: checks and verdict")
    parser.add_argument(
        "--instance", metavar="DIR", help="the dashboard's folder (default SIGNALBOX_INSTANCE)"
    )
    parser.add_argument("--host", default=os.environ.get("SIGNALBOX_HOST", "127.0.0.1"))
    parser.add_argument("--port", type=int, default=os.environ.get("SIGNALBOX_PORT", "8421"))
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when there is no problem, 1 when there is one."""
    folder = Path(arguments.instance).resolve() if arguments.instance else instance()
    report = Examination(Surroundings(folder, arguments.host, arguments.port)).report()
    if arguments.json:
        print(json.dumps(report))
    else:
        print(table(report, coloured=sys.stdout.isatty()))
    return 1 if report["verdict"] == Verdict.PROBLEM else 0


def table(report: dict[str, Any], *, coloured: bool) -> str:
    """The report for a terminal: a line per check, its remedy below."""
    lines = []
    for check in report["checks"]:
        word = f"{check['verdict']:<8}"
        shown = f"\x1b[{COLOURS[check['verdict']]}m{word}\x1b[0m" if coloured else word
        text = textwrap.wrap(
            f"{check['title']}: {check['found']}", WIDTH - len(INDENT), break_on_hyphens=False
        )
        lines.append(f"{shown}  {text[0]}")
        lines += [INDENT + line for line in text[1:]]
        if check["remedy"]:
            told = textwrap.wrap(check["remedy"], WIDTH - len(INDENT) - 3, break_on_hyphens=False)
            lines += [INDENT + ("-> " if number == 0 else "   ") + line for number, line in enumerate(told)]
    counts = [f"{number} {verdict}" for verdict in Verdict if (number := _count(report, verdict))]
    lines.append(f"\n{', '.join(counts)} in {report['took_s']:.1f} s")
    return "\n".join(lines)


def _count(report: dict[str, Any], verdict: Verdict) -> int:
    return sum(check["verdict"] == verdict for check in report["checks"])
