"""Limits of the control group: memory, processes, and whether the kernel has killed in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.sizes import GIB, size
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Memory limit"
LEAST: Final = 2 * GIB  # torch and faiss alone take one, a small run another
FEW_PROCESSES: Final = 200
NO_LIMIT: Final = 1 << 60  # version 1 writes "no limit" as a huge number


@dataclass(frozen=True)
class Limits:
    """What the control groups of this process allow; None where there is no limit.

    Attributes:
        version: 1, 2, or 0 where there are no control groups.
        memory: bytes, the lowest limit on the way to the root.
        used: bytes used in the group with that limit.
        processes: processes and threads that may still be started.
        kills: how often the kernel has killed for memory in this process's group.
    """

    version: int
    memory: int | None
    used: int | None
    processes: int | None
    kills: int


def look(surroundings: Surroundings) -> list[Check]:
    """Control groups exist on Linux only; elsewhere the machine's memory is the limit."""
    memory = psutil.virtual_memory()
    return [judge(read_limits(surroundings.root), total=memory.total, available=memory.available)]


def judge(limits: Limits, *, total: int, available: int) -> Check:
    """Judge the limits beside the machine's ``total`` and ``available`` bytes."""
    details = {**vars(limits), "machine_bytes": total, "available_bytes": available}
    room, whose = available, f"{size(available)} of the machine's {size(total)} are available"
    if limits.memory is not None and limits.memory < total:
        room = min(available, limits.memory - (limits.used or 0))
        whose = f"this container may use {size(limits.memory)}, {size(max(0, room))} of it are left"
    verdict, found, remedy = Verdict.OK, whose, ""
    if room < LEAST:
        verdict = Verdict.WARNING
        found += ": the kernel kills a run that needs more, without a word in its log"
        remedy = "Give the container more memory, end what else uses it, or train with a smaller batch. "
    if limits.kills:
        verdict = Verdict.WARNING
        found += f"; the kernel has killed {limits.kills} processes here for want of memory"
        remedy = remedy or "Look at which run ended by SIGKILL, and give it more memory or a smaller batch. "
    if limits.processes is not None and limits.processes < FEW_PROCESSES:
        verdict = Verdict.WARNING
        found += f"; only {limits.processes} more processes or threads may be started"
        remedy += (
            "Raise the pids limit of the container: math libraries abort when a thread cannot be started."
        )
    return Check("memory_limit", TITLE, verdict, f"{found[0].upper()}{found[1:]}.", remedy.strip(), details)


def read_limits(root: Path) -> Limits:
    """Read the control groups of this process below ``root``."""
    mount = root / "sys" / "fs" / "cgroup"
    groups = _groups(root / "proc" / "self" / "cgroup")
    if (mount / "cgroup.controllers").exists() and "" in groups:
        folders = _upwards(mount, groups[""])
        memory, used = _lowest(folders, "memory.max", "memory.current")
        return Limits(
            2, memory, used, _room(folders, "pids.max"), _counted(folders, "memory.events", "oom_kill")
        )
    if "memory" in groups:
        folders = _upwards(mount / "memory", groups["memory"])
        memory, used = _lowest(folders, "memory.limit_in_bytes", "memory.usage_in_bytes")
        processes = _room(_upwards(mount / "pids", groups.get("pids", "/")), "pids.max")
        return Limits(1, memory, used, processes, _counted(folders, "memory.oom_control", "oom_kill"))
    return Limits(0, None, None, None, 0)


def _groups(path: Path) -> dict[str, str]:
    """Controller to path; version 2 has the empty name."""
    try:
        lines = path.read_text("ascii").splitlines()
    except OSError:
        return {}
    parts = (line.split(":", 2) for line in lines)
    return {name: found[2] for found in parts if len(found) == 3 for name in found[1].split(",")}


def _upwards(mount: Path, group: str) -> list[Path]:
    """The group's folder and its parents up to the mount; in a container only some of them are there."""
    folder = mount / group.lstrip("/")
    folders = [folder, *folder.parents]
    return [one for one in folders if one.is_relative_to(mount) and one.is_dir()]


def _lowest(folders: list[Path], limit: str, usage: str) -> tuple[int | None, int | None]:
    found = [(value, folder) for folder in folders if (value := _number(folder / limit)) is not None]
    if not found:
        return None, None
    value, folder = min(found)
    return value, _number(folder / usage)


def _room(folders: list[Path], limit: str) -> int | None:
    rooms = [
        value - (_number(folder / "pids.current") or 0)
        for folder in folders
        if (value := _number(folder / limit)) is not None
    ]
    return min(rooms, default=None)


def _counted(folders: list[Path], file: str, key: str) -> int:
    """The counter ``key`` of the innermost group that has one."""
    for folder in folders:
        try:
            lines = (folder / file).read_text("ascii").splitlines()
        except OSError:
            continue
        for line in lines:
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
    return 0


def _number(path: Path) -> int | None:
    try:
        value = int(path.read_text("ascii"))
    except (OSError, ValueError):  # missing, or "max"
        return None
    return value if value < NO_LIMIT else None
