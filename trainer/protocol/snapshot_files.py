"""Snapshot files that a training has left in its folder, and which of them have arrived at the dashboard.

A file that is written again, because its run went on from before it, has to
arrive again: what is noted is the name with the time of writing.  Only the
standard library may be imported here.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from trainer.protocol.probe_files import ADDED_FOLDER
from trainer.protocol.run_folder import RunPaths

NOTE: Final = "snapshots.sent"
_PATTERN: Final = "step_*.json.gz"


def snapshot_files(paths: RunPaths) -> list[Path]:
    """Snapshots of the run's own probes and of those added to it, by step."""
    folders = (paths.snapshots, paths.snapshots / ADDED_FOLDER)
    found = (path for folder in folders for path in folder.glob(_PATTERN))
    return sorted(found, key=lambda path: (path.name, path.parent))


def is_of_added(path: Path) -> bool:
    """Whether a snapshot file is one of added probes."""
    return path.parent.name == ADDED_FOLDER


def mark_of(path: Path, *, folder: Path) -> str | None:
    """What is noted of a file below ``folder`` once it has arrived; None when it is gone."""
    with contextlib.suppress(OSError):
        return f"{path.relative_to(folder).as_posix()} {path.stat().st_mtime_ns}"
    return None


def noted(note: Path) -> set[str]:
    """The marks of what has arrived."""
    try:
        return set(note.read_text().splitlines())
    except OSError:
        return set()
