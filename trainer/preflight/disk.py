"""Space for this run's checkpoints and snapshots, with sizes that come from its parameters."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.sizes import MIB, size
from trainer.preflight.outlook import Outlook, Survey
from trainer.preflight.question import Question

TITLE: Final = "Disk"
RESERVE: Final = 64 * MIB  # spool, logs, and what the engine keeps free
REMEDY: Final = (
    "Free space there, make the model smaller or keep fewer checkpoints, or set SIGNALBOX_INSTANCE to a "
    "folder on a larger disk."
)


def look(question: Question, survey: Survey) -> list[Check]:
    """Ask how much is free where the run's folder would lie."""
    if survey.outlook is None:
        return []
    folder = existing(question.runs_dir)
    if not os.access(folder, os.W_OK):
        found = f"Nothing can be written to {folder}."
        return [Check("disk", TITLE, Verdict.PROBLEM, found, "Check the permissions of that folder.")]
    return [judge(survey.outlook, folder=folder, free=shutil.disk_usage(folder).free)]


def judge(outlook: Outlook, *, folder: Path, free: int) -> Check:
    """Judge ``free`` bytes in ``folder``: two checkpoints must fit, because the new one is complete first."""
    one = outlook.checkpoint_bytes
    least = 2 * one + outlook.snapshots_bytes + RESERVE
    saves = 1 + outlook.total_steps // max(1, outlook.checkpoint_every)
    kept = min(saves, outlook.keep_checkpoints + 1) + 1  # the best stays, and one is being written
    all_of_it = kept * one + outlook.snapshots_bytes + RESERVE
    details = {
        "folder": str(folder),
        "free_bytes": free,
        "checkpoint_bytes": one,
        "snapshots_bytes": outlook.snapshots_bytes,
        "checkpoints_at_once": kept,
        "needed_bytes": all_of_it,
        "is_measured": outlook.pace is not None,
    }
    about = "" if outlook.pace is not None else "about "
    each = f"a checkpoint takes {about}{size(one)}, snapshots {size(outlook.snapshots_bytes)} in all"
    if free < least:
        found = f"Only {size(free)} are free in {folder}, and two checkpoints do not fit: {each}."
        return Check("disk", TITLE, Verdict.PROBLEM, found, REMEDY, details)
    if free < 1.2 * all_of_it:
        found = f"{size(free)} are free in {folder}, and {kept} checkpoints at a time need "
        found += f"{size(all_of_it)}: {each}."
        return Check("disk", TITLE, Verdict.WARNING, found, REMEDY, details)
    found = f"{size(free)} are free in {folder}; the run needs {about}{size(all_of_it)}: {each}."
    return Check("disk", TITLE, Verdict.OK, found, "", details)


def existing(folder: Path) -> Path:
    """``folder``, or the nearest folder above it that is there."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
