"""The limit of open files: workers and sockets need many, and running out of them shows as anything else."""

from __future__ import annotations

import resource
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Open files"
WANTED: Final = 4096
LITTLE: Final = 1024
REMEDY: Final = "Run ulimit -n 4096 in the shell that starts Signalbox, or set LimitNOFILE in its service."


def look(surroundings: Surroundings) -> list[Check]:
    """The limits probes inherit are those of whoever started the doctor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return [judge(soft=_count(soft), hard=_count(hard))]


def judge(*, soft: int | None, hard: int | None) -> Check:
    """Judge the limits; None stands for no limit."""
    details = {"soft": soft, "hard": hard}
    if soft is None or soft >= WANTED:
        found = f"A process may open {soft if soft is not None else 'any number of'} files."
        return Check("open_files", TITLE, Verdict.OK, found, "", details)
    found = f"A process may open {soft} files"
    if soft >= LITTLE:
        found += ": enough for a run without DataLoader workers."
        return Check("open_files", TITLE, Verdict.NOTE, found, REMEDY, details)
    found += ": a run with workers, or a dashboard with many pages open, fails with 'Too many open files'."
    return Check("open_files", TITLE, Verdict.WARNING, found, REMEDY, details)


def _count(limit: int) -> int | None:
    return None if limit == resource.RLIM_INFINITY else limit
