"""How much memory a run may still take: of its container where that has a limit, else of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from trainer.supervisor.alerts.rule import Memory

_LOOK_UP_EVERY: Final = 30  # reads
_NO_LIMIT: Final = 1 << 60  # version 1 writes "no limit" as a huge number


class MemoryGauge:
    """Reads the tightest of the limits, again and again; which groups have one is looked up now and then."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._limited: list[Path] = []
        self._num_reads = 0

    def read(self) -> Memory | None:
        """What there is now; files that the kernel may drop from memory count as available."""
        machine = psutil.virtual_memory()
        found = [Memory(machine.total, machine.available, "this machine")]
        if self._num_reads % _LOOK_UP_EVERY == 0:
            self._limited = [folder for folder in _groups(self._root) if _limit(folder) is not None]
        self._num_reads += 1
        for folder in self._limited:
            limit, used = _limit(folder), _used(folder)
            if limit is not None and used is not None and limit < machine.total:
                left = limit - max(0, used - _droppable(folder / "memory.stat"))
                found.append(Memory(limit, max(0, left), "this container"))
        return min(found, key=lambda memory: memory.available_bytes / max(1, memory.limit_bytes))


def _groups(root: Path) -> Iterator[Path]:
    """The control groups of this process that exist, innermost first."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = [*line.split(":", 2), "", ""][:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        folder = mount / place.lstrip("/")
        yield from (one for one in [folder, *folder.parents] if one.is_relative_to(mount) and one.is_dir())


def _limit(folder: Path) -> int | None:
    """Bytes that the group may take; None where it has no limit."""
    limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
    return limit if limit is not None and limit < _NO_LIMIT else None


def _used(folder: Path) -> int | None:
    return _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes")


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # missing, or "max"
        return None


def _droppable(path: Path) -> int:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    facts = dict(line.partition(" ")[::2] for line in lines)
    return int(facts.get("total_inactive_file", facts.get("inactive_file", "0")))
