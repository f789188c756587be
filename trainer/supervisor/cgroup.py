"""A control group of the run's own: the net through which no process slips.

A child that left its session, changed its parent and cleaned its environment is
still a member of the group it was born into.  Linux with cgroup v2 only, and only
where this user may make groups (a systemd user session, root, a delegated
container); everywhere else the other nets have to do (see ``tree``).  No
controller is switched on, so memory and CPU are accounted for as before.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from pathlib import Path
from typing import Final

_REMOVE_S: Final = 1.0  # the dead leave a group a moment after they were killed


class Cgroup:
    """One group, made for one run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, run_dir: str) -> Cgroup | None:
        """Make the group below the one this process is in; None where that is not possible."""
        parent = _own_group()
        if parent is None:
            return None
        path = parent / _name_of(run_dir)
        try:
            path.mkdir(exist_ok=True)
            with (path / "cgroup.procs").open("ab"):  # may be made, but not used, in some containers
                pass
        except OSError:
            with contextlib.suppress(OSError):
                path.rmdir()
            return None
        return cls(path)

    @classmethod
    def of_record(cls, path: object, *, run_dir: str) -> Cgroup | None:
        """The group an earlier supervisor wrote down for ``run_dir``, if it is there and is that run's."""
        if not isinstance(path, str) or not path:
            return None
        folder = Path(path)
        is_ours = folder.name == _name_of(run_dir) and (folder / "cgroup.procs").is_file()
        return cls(folder) if is_ours else None

    def descriptor(self) -> int:
        """An open ``cgroup.procs``: whoever writes ``0`` to it becomes a member.

        Raises:
            OSError: the group is gone.
        """
        return os.open(self.path / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)

    def pids(self) -> list[int]:
        """The members, zombies too, also those of groups below; empty when the group is gone."""
        found: list[int] = []
        for procs in [self.path / "cgroup.procs", *self.path.glob("**/*/cgroup.procs")]:
            with contextlib.suppress(OSError, ValueError):
                found += [int(line) for line in procs.read_text().split()]
        return sorted({pid for pid in found if pid > 0})

    def kill(self) -> None:
        """SIGKILL every member at once, where the kernel (5.14) can; forks cannot outrun it."""
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")

    def remove(self) -> None:
        """Give the group back; it stays when something in it cannot be killed."""
        deadline = time.monotonic() + _REMOVE_S
        while self.path.exists():
            for folder in sorted(self.path.glob("**/"), reverse=True):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            if time.monotonic() > deadline:
                return
            if self.path.exists():
                time.sleep(0.02)


def _name_of(run_dir: str) -> str:
    return f"signalbox-{hashlib.sha256(run_dir.encode()).hexdigest()[:20]}"


def _own_group() -> Path | None:
    """The folder of the cgroup v2 group this process is in."""
    if sys.platform != "linux":
        return None
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    except OSError:
        return None
    group = next((line[3:] for line in lines if line.startswith("0::")), None)
    for fields in mounts:
        kind = fields[fields.index("-") + 1] if "-" in fields else ""
        if group is not None and kind == "cgroup2":
            root, mount_point = fields[3], Path(fields[4])
            inside = os.path.relpath(group, root) if group.startswith(root) else group.lstrip("/")
            return mount_point / inside
    return None
