"""``python -m trainer``: train, supervise and inspect from a terminal.

Every command is a module of ``trainer.cli`` with ``add_parser`` and ``main``.
Only the module of the command asked for is loaded: a supervisor lives as long
as its run and should not carry what listing datasets needs.  Exit code 2 means
the command line, or a file it names, is wrong.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

from trainer.cli.errors import UsageError

COMMANDS: Final = (
    *("run", "preflight", "verify", "supervise", "drain", "stop"),
    *("ask", "snapshot", "recipes", "scripts", "datasets", "doctor", "diagnose"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run its command; returns the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog="python -m trainer", description="The training side of Signalbox.")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in words[:1] if words[:1] and words[0] in COMMANDS else COMMANDS:
        importlib.import_module(f"trainer.cli.{name}").add_parser(subparsers)
    chosen = parser.parse_args(words)
    try:
        code = int(chosen.main(chosen))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UsageError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
