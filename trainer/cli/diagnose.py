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
    parser.add_argument("log", metavar="LOGFILE", help="'-' reads standard input")
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
    """0 whatever is found, 2 when there is no such log."""
    code, number = exit_of(arguments.exit_code, platform=arguments.platform)
    findings = diagnose(
        Evidence(
            log=_read(arguments.log),
            exit_code=code,
            signal=number,
            stop_requested=arguments.stopped_by_user,
            platform=arguments.platform,
        )
    )
    if arguments.json:
        print(json.dumps({"findings": [finding.to_json() for finding in findings]}))
    else:
        print("\n\n".join(map(in_words, findings)) or "Nothing in this log says that it died of anything.")
    return 0


def in_words(finding: Finding) -> str:
    """A finding for a terminal."""
    sure = f" ({finding.confidence:.0%} sure)" if finding.confidence else ""
    parts = [f"{finding.id}{sure}: {finding.cause}", f"  What helps: {finding.remedy}"]
    parts += [f"  | {line}" for line in finding.lines]
    if finding.source:
        parts.append(f"  See: {finding.source}")
    return "\n".join(parts)


def _read(name: str) -> str:
    try:
        return read_stream(sys.stdin.buffer) if name == "-" else read_log(Path(name))
    except OSError as exc:
        raise UsageError(f"LOGFILE: {name} cannot be read: {exc.strerror or exc}") from exc


def _here() -> str:
    return {"darwin": "darwin", "win32": "windows"}.get(sys.platform, "linux")
