"""Where the commands find and put things when nobody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

from trainer.cli.errors import UsageError
from trainer.protocol.run_folder import RunPaths


def instance() -> Path:
    """The folder of all runs and datasets: ``SIGNALBOX_INSTANCE``, or ``instance`` right here."""
    return Path(os.environ.get("SIGNALBOX_INSTANCE") or "instance").resolve()


def existing_run(run_dir: str) -> RunPaths:
    """The run in ``run_dir``.

    Raises:
        UsageError: there is no run.
    """
    paths = RunPaths(Path(run_dir).resolve())
    if not paths.spec.is_file():
        raise UsageError(f"{run_dir} is not a run folder: it has no spec.json")
    return paths
