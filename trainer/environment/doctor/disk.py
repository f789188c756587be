"""Space for checkpoints where the instance lies, and whether anything can be written there."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.sizes import GIB, size
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Disk for checkpoints"
LEAST: Final = GIB // 2  # below this a small run fails too
COMFORTABLE: Final = 5 * GIB
MIN_INODES: Final = 1000
REMEDY: Final = (
    "Delete old runs, empty instance/trash, or set SIGNALBOX_INSTANCE to a folder on a larger disk."
)


def look(surroundings: Surroundings) -> list[Check]:
    """Write a little, then ask how much would fit."""
    folder = _existing(surroundings.instance)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        found = f"Nothing can be written to {folder}: {exc.strerror}."
        return [Check("disk", TITLE, Verdict.PROBLEM, found, REMEDY, {"folder": str(folder)})]
    inodes = os.statvfs(folder)
    return [
        judge(
            folder,
            free=shutil.disk_usage(folder).free,
            checkpoint=largest_checkpoint(surroundings.runs_dir),
            inodes=inodes.f_favail if inodes.f_files else None,
        )
    ]


def judge(folder: Path, *, free: int, checkpoint: int, inodes: int | None) -> Check:
    """Judge the ``free`` bytes, with the size of the largest checkpoint seen (0: none yet)."""
    details = {
        "folder": str(folder),
        "free_bytes": free,
        "largest_checkpoint_bytes": checkpoint,
        "inodes": inodes,
    }
    needed = 2 * checkpoint  # the new one is complete before the old one goes
    if free < max(LEAST, needed):
        found = f"Only {size(free)} are free in {folder}: the next checkpoint may not fit"
        found += f" (two of the largest so far take {size(needed)})." if needed else "."
        return Check("disk", TITLE, Verdict.PROBLEM, found, REMEDY, details)
    if inodes is not None and inodes < MIN_INODES:
        found = f"{folder} has room for only {inodes} more files."
        return Check("disk", TITLE, Verdict.WARNING, found, REMEDY, details)
    verdict = Verdict.WARNING if free < max(COMFORTABLE, 4 * checkpoint) else Verdict.OK
    found = f"{size(free)} are free in {folder}"
    found += f", enough for {free // checkpoint} checkpoints like the largest so far." if checkpoint else "."
    return Check("disk", TITLE, verdict, found, REMEDY if verdict is Verdict.WARNING else "", details)


def largest_checkpoint(runs_dir: Path) -> int:
    """Bytes of the largest checkpoint of any run; 0 when there is none."""
    largest = 0
    for path in runs_dir.glob("*/checkpoints/*.pt"):
        try:
            largest = max(largest, path.stat().st_size)
        except OSError:
            continue  # thinned out at this moment
    return largest


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
