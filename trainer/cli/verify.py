"""``verify``: proves within half a minute that training, resuming and cleaning up work on this machine.

The exit code is 0 only when every stage passed.  Run it bare: behind a pipe
the shell reports the last command's code instead (``set -o pipefail`` helps).
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

from trainer.cli.cancelling import Cancelled, cancel_on_signals
from trainer.cli.doctor import COLOURS
from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.environment.doctor.check import Check, Verdict
from trainer.verify.plan import STAGES
from trainer.verify.rehearsal import LIMIT_S, rehearse

WIDTH: Final = 100
EXIT_STOPPED: Final = 130


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("verify", help="prove in half a minute that training works here")
    parser.add_argument("--json", action="store_true", help="a JSON object per stage, and the report last")
    parser.add_argument("--keep", action="store_true", help="keep the folder of the rehearsal")
    parser.add_argument("--instance", metavar="DIR", help="where the corpus is kept (SIGNALBOX_INSTANCE)")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS", help="for everything")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when every stage passed, 1 when one broke, 130 when it was ended, 2 for wrong use."""
    if not 1 <= arguments.limit <= 24 * 3600:
        raise UsageError("--limit: must be 1 to 86400 seconds")
    is_cancelled = cancel_on_signals()
    folder = Path(arguments.instance).resolve() if arguments.instance else instance()
    tell = _tell_json if arguments.json else _tell
    if arguments.json:
        print(json.dumps({"order": [vars(stage) for stage in STAGES]}), flush=True)
    try:
        report = rehearse(
            folder,
            tell=tell,
            limit_s=arguments.limit,
            keep=arguments.keep,
            is_cancelled=is_cancelled,
        )
    except Cancelled:
        print("ended before the last stage", file=sys.stderr)
        return EXIT_STOPPED
    except OSError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps(report), flush=True)
    else:
        _print_end(report)
    return 0 if report["verdict"] == Verdict.OK else 1


def _tell_json(check: Check) -> None:
    print(json.dumps({"stage": check.to_json()}), flush=True)


def _tell(check: Check) -> None:
    colour = COLOURS[check.verdict] if sys.stdout.isatty() else ""
    word = f"{check.verdict.value:<8}"
    shown = f"\x1b[{colour}m{word}\x1b[0m" if colour else word
    head = f"{shown}  {check.details.get('took_s', 0.0):5.1f} s  "
    text = textwrap.wrap(f"{check.title}: {check.found}", WIDTH - 19, break_on_hyphens=False)
    print(head + f"\n{'':19}".join(text), flush=True)
    if check.remedy:
        print(f"{'':19}-> {check.remedy}", flush=True)
    for line in check.details.get("lines", []) if check.verdict is Verdict.PROBLEM else []:
        print(f"{'':19}   {line}", flush=True)


def _print_end(report: dict[str, Any]) -> None:
    broken = [stage["title"] for stage in report["stages"] if stage["verdict"] != Verdict.OK]
    passed = "every stage passed" if not broken else f"broken: {', '.join(broken)}"
    print(f"\n{passed}, in {report['took_s']:.1f} s")
    if report["folder"] is not None:
        print(f"kept: {report['folder']}")
