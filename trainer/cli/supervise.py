"""``supervise RUN_DIR``: be the parent of one run's trainer; what the dashboard's launcher starts."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from typing import Any

from trainer.cli.errors import UsageError
from trainer.cli.folders import existing_run
from trainer.protocol.errors import ProtocolError
from trainer.supervisor.recovery import SurvivorsLeft
from trainer.supervisor.run_lock import RunLocked
from trainer.supervisor.supervise import DRAIN_S, supervise

EXIT_LOCKED = 3
EXIT_SURVIVORS = 4


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("supervise", help="run the next attempt of a run, as the dashboard does")
    parser.add_argument("run_dir", metavar="RUN_DIR")
    parser.add_argument(
        "--drain",
        type=float,
        default=DRAIN_S,
        metavar="SECONDS",
        help="how long to wait for the dashboard after the end (default %(default)g)",
    )
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """Supervise to the end; 0 however the run ended, because its end is in ``exit.json``."""
    log_to_stderr(logging.INFO)
    try:
        supervise(existing_run(arguments.run_dir), drain_s=arguments.drain)
    except ProtocolError as exc:
        raise UsageError(str(exc)) from exc
    except RunLocked as exc:
        print(f"error: {exc}", file=sys.stderr)
        return EXIT_LOCKED
    except SurvivorsLeft as exc:
        print(f"error: {exc}", file=sys.stderr)
        return EXIT_SURVIVORS
    return 0


def log_to_stderr(level: int) -> None:
    """One line per message with its UTC time; messages of the network libraries only from warnings up."""
    logging.Formatter.converter = time.gmtime
    form = "%(asctime)sZ %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.WARNING, format=form, datefmt="%Y-%m-%dT%H:%M:%S")
    logging.getLogger("trainer").setLevel(level)
