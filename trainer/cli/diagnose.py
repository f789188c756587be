"""``diagnose LOGFILE``: why did it die, and what helps; for any log, also of runs Signalbox never saw."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from trainer.cli.errors import UsageError
from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence, exit_of
from trainer.diagnosis.finding import Finding
from trainer.diagnosis.log_text import read_log, read_stream

PLATFORMS: Final = ("linux", "darwin", "windows")


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("diagnose", help="tell from a log why a training died")
    parser.add_argument("logs", metavar="LOGFILE", nargs="+", help="'-' reads standard input")
    parser.add_argument(
        "--exit-code",
        type=int,
        metavar="N",
        help="of the trainer; signals as -N or 128+N; unknown if left out",
    )
    parser.add_argument("--platform", choices=PLATFORMS, default=_here(), help="default: this one")
    parser.add_argument("--stopped-by-user", action="store_true", help="a person wanted it to end")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 whatever is found, 2 when one of the logs cannot be read; the others are told all the same."""
    told: list[tuple[str, list[Finding]]] = []
    unreadable: list[str] = []
    for name in arguments.logs:
        try:
            told.append((name, _diagnosed(name, arguments)))
        except OSError as exc:
            unreadable.append(f"LOGFILE: {name} cannot be read: {exc.strerror or exc}")
    if len(arguments.logs) == 1 and unreadable:
        raise UsageError(unreadable[0])
    several = len(arguments.logs) > 1
    print(_as_json(told, several=several) if arguments.json else _as_text(told, several=several))
    for words in unreadable:
        print(words, file=sys.stderr)
    return 2 if unreadable else 0


def _diagnosed(name: str, arguments: argparse.Namespace) -> list[Finding]:
    code, number = exit_of(arguments.exit_code, platform=arguments.platform)
    return diagnose(
        Evidence(
            log=read_stream(sys.stdin.buffer) if name == "-" else read_log(Path(name)),
            exit_code=code,
            signal=number,
            stop_requested=arguments.stopped_by_user,
            platform=arguments.platform,
        )
    )


def _as_json(told: list[tuple[str, list[Finding]]], *, several: bool) -> str:
    """``{"findings": [...]}`` for one log; for several ``{"logs": [{"log", "findings"}, ...]}``."""
    as_json = [{"log": name, "findings": [one.to_json() for one in findings]} for name, findings in told]
    return json.dumps({"logs": as_json} if several else {"findings": as_json[0]["findings"]})


def _as_text(told: list[tuple[str, list[Finding]]], *, several: bool) -> str:
    parts = []
    for name, findings in told:
        words = "\n\n".join(map(in_words, findings))
        head = f"== {name}\n" if several else ""
        parts.append(head + (words or "Nothing in this log says that it died of anything."))
    return "\n\n".join(parts)


def in_words(finding: Finding) -> str:
    """A finding for a terminal."""
    sure = f" ({finding.confidence:.0%} sure)" if finding.confidence else ""
    parts = [f"{finding.id}{sure}: {finding.cause}", f"  What helps: {finding.remedy}"]
    parts += [f"  | {line}" for line in finding.lines]
    if finding.source:
        parts.append(f"  See: {finding.source}")
    return "\n".join(parts)


def _here() -> str:
    return {"darwin": "darwin", "win32": "windows"}.get(sys.platform, "linux")
