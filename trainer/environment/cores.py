"""How many cores a run may really use: hardware, affinity and container quota together."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Physical cores this process may use, at least 1."""
    counts = [psutil.cpu_count(logical=False) or os.cpu_count() or 1]
    if hasattr(os, "sched_getaffinity"):
        counts.append(len(os.sched_getaffinity(0)))
    quota = _quota_cores()
    if quota is not None:
        counts.append(quota)
    return max(1, min(counts))


def _quota_cores(path: Path = _QUOTA) -> int | None:
    try:
        quota, period = path.read_text("ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no cgroup v2, or "max": no quota
        return None
