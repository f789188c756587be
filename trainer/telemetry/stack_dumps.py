"""Lets a trainer say where it stands, however stuck it is."""

from __future__ import annotations

import faulthandler
import os
import signal
from pathlib import Path

from trainer.protocol.run_folder import RunPaths


def answer_with_stacks(paths: RunPaths, *, attempt: int, into: Path | None = None) -> None:
    """Write all threads' stacks at every SIGUSR1, into the attempt's ``stacks.txt`` or another file.

    Call it before anything heavy is imported: the handler needs neither memory
    nor the interpreter lock, but it has to be there when an import hangs.
    """
    path = into or paths.stacks(attempt)
    path.parent.mkdir(parents=True, exist_ok=True)
    # never closed: a process stuck in its last moments must still be able to say where
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    faulthandler.register(signal.SIGUSR1, file=descriptor, all_threads=True)
