"""``stop RUN_DIR``: ask a run to save a checkpoint and end, and wait until it has."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from typing import Any

import psutil

from trainer.cli.folders import existing_run
from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import ExitRecord, RunPaths
from trainer.supervisor.run_lock import living_supervisor


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("stop", help="stop a run: checkpoint, then end")
    parser.add_argument("run_dir", metavar="RUN_DIR")
    parser.add_argument("--kill", action="store_true", help="do not wait for a checkpoint")
    parser.add_argument("--wait", type=float, default=60.0, metavar="SECONDS", help="default %(default)g")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when the run has ended, 1 when nobody supervises it or it takes longer than ``--wait``."""
    paths = existing_run(arguments.run_dir)
    supervisor = living_supervisor(paths)
    if supervisor is None:
        print(f"{arguments.run_dir} is not running", file=sys.stderr)
        return 1
    if not _has_ended(paths):
        supervisor.send_signal(signal.SIGQUIT if arguments.kill else signal.SIGTERM)
    deadline = time.monotonic() + arguments.wait
    while not _has_ended(paths):
        if not _is_alive(supervisor):
            print("the supervisor ended without an exit record", file=sys.stderr)
            return 1
        if time.monotonic() > deadline:
            print(f"still stopping after {arguments.wait:g} s; 'stop --kill' does not wait", file=sys.stderr)
            return 1
        time.sleep(0.05)
    record = ExitRecord.load(paths)
    print(f"{record.state}: {record.reason}" if record is not None else "stopped")
    return 0


def _has_ended(paths: RunPaths) -> bool:
    try:
        return ExitRecord.load(paths) is not None
    except ProtocolError:
        return False


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
