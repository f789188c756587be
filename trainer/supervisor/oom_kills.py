"""How often the kernel has killed for want of memory, in this control group or else on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CGROUPS: Final = Path("/sys/fs/cgroup")
_PROC: Final = Path("/proc")
_NO_LIMIT: Final = 1 << 60  # v1 writes a number near 2**63 where v2 writes "max"


@dataclass(frozen=True)
class OomKills:
    """A reading of the counter; ``is_own`` is False where only the whole machine counts."""

    count: int
    is_own: bool


def read_oom_kills(*, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> OomKills | None:
    """The counter, to be compared with a later reading; None where the system has none.

    The control group's own counter comes first: v2 ``memory.events.local`` (this group alone), else
    ``memory.events``, v1 ``memory.oom_control``.  The machine's (``vmstat``) also counts what died elsewhere.
    """
    for path in _of_own_group(proc, cgroups):
        count = _oom_kill_line(path)
        if count is not None:
            return OomKills(count, is_own=True)
    count = _oom_kill_line(proc / "vmstat")
    return None if count is None else OomKills(count, is_own=False)


def count_oom_kills(*, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """The counter's value alone."""
    kills = read_oom_kills(proc=proc, cgroups=cgroups)
    return None if kills is None else kills.count


def oom_kills_are_own(*, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> bool:
    """Whether the counter is of this control group, so that a rise of it is a kill in here."""
    kills = read_oom_kills(proc=proc, cgroups=cgroups)
    return kills is not None and kills.is_own


def memory_limit_bytes(*, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """The least of the machine's memory and the limits of this control group and those around it."""
    limits = [_mem_total(proc)]
    for controllers, place in _groups(proc):
        root, name = (cgroups / "memory", "memory.limit_in_bytes") if controllers else (cgroups, "memory.max")
        group = root / place
        while group.is_relative_to(root):
            limits.append(_number(group / name))
            group = group.parent
    return min((limit for limit in limits if limit is not None and limit < _NO_LIMIT), default=None)


def _of_own_group(proc: Path, cgroups: Path) -> Iterator[Path]:
    for controllers, place in _groups(proc):
        if controllers:
            yield cgroups / "memory" / place / "memory.oom_control"
            yield cgroups / "memory" / "memory.oom_control"  # inside a container the place is the host's
        else:
            yield cgroups / place / "memory.events.local"
            yield cgroups / place / "memory.events"


def _groups(proc: Path) -> Iterator[tuple[str, str]]:
    """Controllers (empty for v2) and place of the groups that count memory."""
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = [*line.split(":", 2), "", ""][:3]
        if controllers == "" or "memory" in controllers.split(","):
            yield controllers, place.lstrip("/")


def _oom_kill_line(path: Path) -> int | None:
    for line in _text(path).splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.strip().isdigit():
            return int(value)
    return None


def _mem_total(proc: Path) -> int | None:
    for line in _text(proc / "meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal":
            return int(value.split()[0]) * 1024
    return None


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
