"""The command line of a trainer, in the one place that preview and supervisor share."""

from __future__ import annotations

import sys
from pathlib import Path


def command(run_dir: Path | str, attempt: int) -> list[str]:
    """The argument vector that starts attempt ``attempt`` of the run in ``run_dir``.

    ``-P`` keeps the working directory off the module path: a dataset folder
    with a file ``json.py`` in it must not become code.
    """
    flags = ["-u", "-X", "faulthandler", "-P"]
    return [sys.executable, *flags, "-m", "trainer.engine", str(run_dir), "--attempt", str(attempt)]
