"""How often the kernel has killed for want of memory, in this control group or else on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def count_oom_kills(*, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """The counter's value, to be compared with a later one; None where the system has none.

    The control group's own counter (v2 ``memory.events``, v1 ``memory.oom_control``) is preferred: the
    machine's (``vmstat``) also counts what died elsewhere.
    """
    for path in [*_of_own_group(proc, cgroups), proc / "vmstat"]:
        count = _oom_kill_line(path)
        if count is not None:
            return count
    return None


def _of_own_group(proc: Path, cgroups: Path) -> Iterator[Path]:
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            yield cgroups / place.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            yield cgroups / "memory" / place.lstrip("/") / "memory.oom_control"
            yield cgroups / "memory" / "memory.oom_control"  # inside a container the place is the host's


def _oom_kill_line(path: Path) -> int | None:
    try:
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill" and value.strip().isdigit():
                return int(value)
    except OSError:
        return None
    return None
