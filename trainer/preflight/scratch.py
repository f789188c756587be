"""Folders that are thrown away, on the same disk as the runs, and those a killed process has left."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from trainer.supervisor.tree import marked


@contextlib.contextmanager
def scratch_folder(instance: Path, kind: str, *, keep: bool = False) -> Iterator[Path]:
    """A new folder ``KIND-PID-…`` in ``instance``, removed at the end unless ``keep``.

    First those go whose process is no longer there.

    Raises:
        OSError: it cannot be made.
    """
    instance.mkdir(parents=True, exist_ok=True)
    for old in instance.glob(f"{kind}-*-*"):
        owner = old.name.removeprefix(f"{kind}-").partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{kind}-{os.getpid()}-", dir=instance)).resolve()
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def end_all(run_dir: Path) -> None:
    """Kill whatever still carries the mark of the run in ``run_dir``."""
    for process in marked(str(run_dir)):
        with contextlib.suppress(psutil.Error):
            process.kill()
