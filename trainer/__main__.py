"""``python -m trainer``: train, supervise and inspect from a terminal.

Every command lives in ``trainer.cli`` and brings ``add_parser`` and ``main``.
Exit code 2 means the command line or a file it names is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from trainer.cli import datasets, drain, recipes, run, stop, supervise
from trainer.cli.errors import UsageError

_COMMANDS = (run, supervise, drain, stop, recipes, datasets)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run its command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m trainer", description="The training side of Signalbox.")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in _COMMANDS:
        module.add_parser(subparsers)
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.main(chosen))
    except UsageError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
