"""Size of ``/dev/shm``: DataLoader workers hand their batches over through it."""

from __future__ import annotations

import os
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.sizes import MIB, size
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Shared memory"
FOLDER: Final = "/dev/shm"  # noqa: S108 - measured, not written to
SMALL: Final = 128 * MIB  # containers get 64 MiB unless told otherwise
REMEDY: Final = (
    "Leave num_workers at 0, or give the container more: --shm-size=2g, or --ipc=host; "
    "in Kubernetes an emptyDir with medium Memory at /dev/shm."
)


def look(surroundings: Surroundings) -> list[Check]:
    """Only Linux has the folder."""
    if surroundings.platform != "linux":
        return [Check("shared_memory", TITLE, Verdict.OK, "This system needs no /dev/shm.")]
    folder = surroundings.root / "dev" / "shm"
    try:
        status = os.statvfs(folder)
    except OSError as exc:
        found = f"{folder} cannot be used ({exc.strerror}): DataLoader workers will fail."
        return [Check("shared_memory", TITLE, Verdict.WARNING, found, REMEDY)]
    return [judge(total=status.f_blocks * status.f_frsize, free=status.f_bavail * status.f_frsize)]


def judge(*, total: int, free: int) -> Check:
    """Judge sizes in bytes."""
    details = {"total_bytes": total, "free_bytes": free}
    if total < SMALL:
        found = (
            f"{FOLDER} has only {size(total)}: a DataLoader with workers dies of a bus error once it is full."
        )
        return Check("shared_memory", TITLE, Verdict.WARNING, found, REMEDY, details)
    if free < SMALL:
        found = f"{FOLDER} is nearly full: {size(free)} of {size(total)} are free."
        remedy = "Remove what dead processes have left in /dev/shm; look with: ls -l /dev/shm"
        return Check("shared_memory", TITLE, Verdict.WARNING, found, remedy, details)
    found = f"{FOLDER} has {size(free)} free of {size(total)}."
    return Check("shared_memory", TITLE, Verdict.OK, found, "", details)
