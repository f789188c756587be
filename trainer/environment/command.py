"""The command line of a trainer, in the one place that preview and supervisor share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

CAFFEINATE: Final = "/usr/bin/caffeinate"


def command(run_dir: Path | str, attempt: int, *, nproc: int = 1) -> list[str]:
    """The argument vector that starts attempt ``attempt`` of the run in ``run_dir``.

    With ``nproc`` above 1 it is torchrun that starts, and then so many trainers.

    ``-P`` keeps the working directory off the module path: a dataset folder
    with a file ``json.py`` in it must not become code.
    """
    flags = ["-u", "-X", "faulthandler", "-P"]
    of_run = [str(run_dir), "--attempt", str(attempt)]
    if nproc > 1:
        return [sys.executable, *flags, "-m", "trainer.engine.torchrun", "--nproc", str(nproc), *of_run]
    return [sys.executable, *flags, "-m", "trainer.engine", *of_run]


def keep_awake(pid: int, *, platform: str = sys.platform, program: str = CAFFEINATE) -> list[str] | None:
    """The argument vector that keeps a Mac awake as long as process ``pid`` lives; None elsewhere.

    No idle sleep, no disk sleep, and no system sleep on mains power; the
    display may go dark. It runs beside the trainer, not around it: as its
    parent it would take the signals and the exit status meant for the supervisor.

    Source:
        https://raw.githubusercontent.com/apple-oss-distributions/PowerManagement/main/caffeinate/caffeinate.8
    """
    if platform != "darwin" or not Path(program).is_file():
        return None
    return [program, "-ims", "-w", str(pid)]
