"""``ask RUN_DIR QUESTION…``: what a trained model answers, from any checkpoint of its run."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import replace
from typing import Any, Final

from trainer.asking.desk import Desk, askable_recipe
from trainer.asking.faults import AskingError, Fault
from trainer.asking.serving import serve
from trainer.asking.surroundings import AskLimits, usual_memory_bytes
from trainer.cli.answer_text import answer_text, fault_text
from trainer.cli.assignments import settings_of
from trainer.cli.cancelling import Cancelled, cancel_on_signals
from trainer.cli.errors import UsageError
from trainer.cli.folders import existing_run
from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import RunPaths, RunSpec

EXIT_STOPPED: Final = 130
_GIB: Final = 1024**3


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("ask", help="ask a trained model")
    parser.add_argument("run_dir", metavar="RUN_DIR")
    parser.add_argument(
        "question",
        nargs="+",
        metavar="QUESTION",
        help="the words of one question; '-' reads questions as JSON lines until nobody asks",
    )
    parser.add_argument(
        "--checkpoint", metavar="last|best|STEP", help="default: the best, else the last there is"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="another part of the question; may be repeated",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda", "mps"),
        default="cpu",
        help="default: cpu, so that no training loses GPU memory",
    )
    parser.add_argument("--limit-s", type=float, metavar="SECONDS", help="for opening, and for each answer")
    parser.add_argument(
        "--memory-gib", type=float, metavar="N", help="default: half of this machine's memory"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--idle-s", type=float, default=AskLimits.idle_s, metavar="SECONDS", help="with '-': when nobody asks"
    )
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 with an answer, 1 without, 2 when the command line or the question is wrong."""
    paths = existing_run(arguments.run_dir)
    limits = _limits(arguments)
    is_serving = arguments.question == ["-"]
    question = {} if is_serving else _question(paths, arguments)
    cancel_on_signals()
    desk: Desk | None = None
    try:
        desk = Desk(paths, limits=limits, device=arguments.device)
        if is_serving:
            serve(desk, idle_s=limits.idle_s)
            return 0
        result = desk.ask(question, wish=arguments.checkpoint, tell=_tell)
    except AskingError as fault:
        return _refused(fault, arguments)
    except ProtocolError as exc:
        raise UsageError(str(exc)) from exc
    except Cancelled:
        return EXIT_STOPPED
    finally:
        if desk is not None:
            desk.close()
    print(json.dumps(result) if arguments.json else answer_text(result))
    return 0


def _question(paths: RunPaths, arguments: argparse.Namespace) -> dict[str, Any]:
    """The words are the first part of the recipe's question; ``--set`` gives the others."""
    try:
        fields = askable_recipe(RunSpec.load(paths).recipe).question
    except AskingError as fault:
        raise UsageError(fault.message) from fault
    except ProtocolError as exc:
        raise UsageError(str(exc)) from exc
    return {**settings_of(arguments.settings), fields[0].name: " ".join(arguments.question)}


def _limits(arguments: argparse.Namespace) -> AskLimits:
    limits = AskLimits(memory_bytes=usual_memory_bytes())
    if arguments.limit_s is not None:
        seconds = _positive(arguments.limit_s, "--limit-s")
        limits = replace(limits, open_s=seconds, answer_s=seconds)
    if arguments.memory_gib is not None:
        gib = _positive(arguments.memory_gib, "--memory-gib")
        limits = replace(limits, memory_bytes=int(gib * _GIB))
    return replace(limits, idle_s=_positive(arguments.idle_s, "--idle-s"))


def _positive(number: float, name: str) -> float:
    if not (math.isfinite(number) and number > 0):
        raise UsageError(f"{name}: must be a number above 0")
    return number


def _refused(fault: AskingError, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(json.dumps({"error": fault.to_json()}))
    else:
        print(fault_text(fault), file=sys.stderr)
    return 2 if fault.kind is Fault.QUESTION else 1


def _tell(detail: str, fraction: float) -> None:
    """On a terminal one line that is written over; elsewhere nothing."""
    if sys.stderr.isatty():
        words = f"{detail} {fraction:.0%}" if 0 < fraction < 1 else detail
        end = "\r" if detail != "answering" else "\r\033[K"
        print(f"\r\033[K{words}", end=end, file=sys.stderr, flush=True)
