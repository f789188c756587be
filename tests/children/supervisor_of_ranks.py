"""A real supervisor over several ranks of a tiny task: ``supervisor_of_ranks RUN_DIR``."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from trainer.environment.command import command
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.supervise import supervise


def make_command(root: Path, attempt: int, *, nproc: int = 1) -> list[str]:
    """The product's own command line, for ranks of a tiny task."""
    return [*command(root, attempt, nproc=nproc), "--module", "tests.children.rank_that"]


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    supervise(RunPaths(Path(sys.argv[1])), make_command=make_command, drain_s=0.0)
