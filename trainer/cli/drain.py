"""``drain RUN_DIR``: ship what an ended run still holds to its dashboard."""

from __future__ import annotations

import argparse
import logging
import sys
from typing import Any

from trainer.cli.errors import UsageError
from trainer.cli.folders import existing_run
from trainer.cli.supervise import EXIT_LOCKED, log_to_stderr
from trainer.protocol.errors import ProtocolError
from trainer.supervisor.drain import drain
from trainer.supervisor.run_lock import RunLocked


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("drain", help="ship what an ended run still holds to its dashboard")
    parser.add_argument("run_dir", metavar="RUN_DIR")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when the dashboard has everything, 1 when something is still here."""
    log_to_stderr(logging.INFO)
    paths = existing_run(arguments.run_dir)
    if not (paths.token.is_file() and paths.uplink.is_file()):
        raise UsageError(f"{arguments.run_dir} belongs to no dashboard: it has no token or no uplink.json")
    try:
        complete = drain(paths, timeout_s=arguments.timeout)
    except ProtocolError as exc:
        raise UsageError(str(exc)) from exc
    except RunLocked as exc:
        print(f"error: {exc}", file=sys.stderr)
        return EXIT_LOCKED
    return 0 if complete else 1
