"""``snapshot RUN``: what each kept checkpoint of a run would have answered to its probes, or to new ones."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from trainer.asking.faults import AskingError, Fault
from trainer.asking.surroundings import AskLimits, usual_memory_bytes
from trainer.backfill.job import ALL, Backfill, Wish
from trainer.cli.answer_text import fault_text
from trainer.cli.cancelling import Cancelled, cancel_on_signals
from trainer.cli.errors import UsageError
from trainer.cli.folders import existing_run, instance
from trainer.protocol.errors import ProtocolError
from trainer.protocol.probe_files import read_probes
from trainer.protocol.run_folder import RunPaths

EXIT_STOPPED: Final = 130
_ASK_S: Final = 1800.0  # the probes of one checkpoint


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("snapshot", help="ask kept checkpoints of a run their probes")
    parser.add_argument("run", metavar="RUN", help="the run's folder, or its id")
    parser.add_argument("--checkpoint", default=ALL, metavar="all|best|last|STEP", help="default: all")
    parser.add_argument(
        "--probes", type=Path, metavar="FILE.jsonl", help="ask these instead of the run's own"
    )
    parser.add_argument("--again", action="store_true", help="also those that were asked before")
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda", "mps"),
        default="cpu",
        help="default: cpu, so that no training loses GPU memory",
    )
    parser.add_argument(
        "--limit-s", type=float, metavar="SECONDS", help="for opening, and for each checkpoint"
    )
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when every checkpoint has been asked, 1 when that failed, 2 when the command line is wrong."""
    paths = _run_of(arguments.run)
    say = _say_json if arguments.json else _say_words
    limits = AskLimits(answer_s=_ASK_S, memory_bytes=usual_memory_bytes())
    if arguments.limit_s is not None:
        if not (math.isfinite(arguments.limit_s) and arguments.limit_s > 0):
            raise UsageError("--limit-s: must be a number above 0")
        limits = replace(limits, open_s=arguments.limit_s, answer_s=arguments.limit_s)
    _check(arguments.probes)
    wish = Wish(arguments.checkpoint, arguments.probes, arguments.device, arguments.again)
    cancel_on_signals()
    try:
        found = Backfill(paths, wish, limits=limits, say=say).run()
    except AskingError as fault:
        _say_fault(fault, is_json=arguments.json)
        return 2 if fault.kind is Fault.QUESTION else 1
    except ProtocolError as exc:
        raise UsageError(str(exc)) from exc
    except Cancelled:
        return EXIT_STOPPED
    say({"report": found})
    return 1 if found["undelivered"] else 0


def _run_of(word: str) -> RunPaths:
    by_id = instance() / "runs" / word
    is_id = "/" not in word and not Path(word).exists() and by_id.is_dir()
    return existing_run(str(by_id) if is_id else word)


def _check(probes: Path | None) -> None:
    """Raise UsageError unless the file has probes."""
    if probes is None:
        return
    try:
        found = read_probes(probes)
    except ProtocolError as exc:
        raise UsageError(str(exc)) from exc
    if not found:
        raise UsageError(f"{probes} is missing, or has no probe in it")


def _say_json(word: dict[str, Any]) -> None:
    print(json.dumps(word), flush=True)


def _say_words(word: dict[str, Any]) -> None:
    if "snapshot" in word:
        one = word["snapshot"]
        summary = one.get("summary", {})
        told = f": {summary['correct']:,} of {summary['total_examples']:,} right" if summary else ""
        print(f"step {one['step']:,}: {_RESULTS[one['result']]}{told}", flush=True)
    elif "report" in word:
        counts = {name: len(steps) for name, steps in word["report"].items() if steps}
        print(", ".join(f"{number} {_RESULTS[name]}" for name, number in counts.items()))


def _say_fault(fault: AskingError, *, is_json: bool) -> None:
    if is_json:
        _say_json({"error": fault.to_json()})
    else:
        print(fault_text(fault), file=sys.stderr)


_RESULTS: Final = {
    "asked": "asked",
    "known": "known already",
    "gone": "gone or damaged",
    "undelivered": "asked, but the dashboard could not take it; run this again",
}
