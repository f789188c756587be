"""Every process of a run, and how all of them are ended.

Four nets, because each has a hole: descendants of the trainer (broken when a
parent in between dies), orphans handed to the supervisor (Linux, which makes
itself their reaper), processes whose environment carries the run's mark
(catches what left the session; missed by a child that cleaned its environment),
and the run's control group (has no hole, but few may make one).
A process is known by pid and start, so a reused pid is never touched.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import psutil

from trainer.protocol.process_identity import ProcessIdentity
from trainer.supervisor.cgroup import Cgroup

MARK = "SIGNALBOX_RUN_DIR"


class ProcessTree:
    """The trainer and all it has started."""

    def __init__(
        self,
        root: ProcessIdentity,
        *,
        run_dir: str,
        strangers: frozenset[int],
        cgroup: Cgroup | None = None,
    ) -> None:
        """``strangers`` are children the supervisor had before the trainer started."""
        self._root = root
        self._run_dir = run_dir
        self._strangers = strangers
        self._cgroup = cgroup
        self._seen: dict[int, psutil.Process] = {}

    def members(self, *, is_thorough: bool = True) -> list[psutil.Process]:
        """All living processes of the tree, the trainer first; zombies do not live.

        Only a thorough look finds all for certain; it reads every process of the machine, the other
        only those of the tree.
        """
        found = {process.pid: process for process in members_of(self._cgroup)}
        if is_thorough or not found:
            relatives = self._descendants(is_thorough=is_thorough) + self._orphans(is_thorough=is_thorough)
            found |= {process.pid: process for process in relatives}
        for pid, process in self._seen.items():
            found.setdefault(pid, process)
        self._seen = {pid: process for pid, process in found.items() if alive(process)}
        return sorted(self._seen.values(), key=lambda process: process.pid != self._root.pid)

    def kill(self, *, timeout_s: float = 5.0) -> list[int]:
        """SIGKILL everything, again and again until nothing is left; returns what could not be killed.

        Only a process stuck inside the kernel survives this.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            left = {process.pid: process for process in self.members() + marked(self._run_dir)}
            if self._cgroup is not None and left:
                self._cgroup.kill()
            for process in left.values():
                with contextlib.suppress(psutil.Error):
                    process.kill()
            self.reap()
            if not left or time.monotonic() >= deadline:
                if self._cgroup is not None and not left:
                    self._cgroup.remove()
                return sorted(left)
            time.sleep(0.02)

    def reap(self, *, is_thorough: bool = True) -> None:
        """Collect orphans that have ended, so that no zombie stays; never the trainer itself."""
        with contextlib.suppress(psutil.Error):
            for child in _children(psutil.Process(), is_thorough=is_thorough):
                if child.pid != self._root.pid and child.pid not in self._strangers and is_zombie(child):
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(child.pid, os.WNOHANG)

    def _descendants(self, *, is_thorough: bool) -> list[psutil.Process]:
        try:
            root = psutil.Process(self._root.pid)
            if not self._root.is_same(identity_of(root)):
                return []
            return [root, *_children(root, is_thorough=is_thorough, recursive=True)]
        except psutil.Error:
            return []

    def _orphans(self, *, is_thorough: bool) -> list[psutil.Process]:
        found = []
        with contextlib.suppress(psutil.Error):
            for child in _children(psutil.Process(), is_thorough=is_thorough):
                if child.pid != self._root.pid and child.pid not in self._strangers:
                    found += [child, *_children(child, is_thorough=is_thorough, recursive=True)]
        return found


def _children(process: psutil.Process, *, is_thorough: bool, recursive: bool = False) -> list[psutil.Process]:
    """Children from the kernel's own lists where there are any, else from a walk over all processes.

    A list may lack a child while another one ends, so whoever must not miss any looks thoroughly.
    """
    if is_thorough or not Path(f"/proc/{process.pid}/task/{process.pid}/children").exists():
        children: list[psutil.Process] = process.children(recursive=recursive)
        return children
    found, parents = [], [process.pid]
    while parents:
        for listed in Path(f"/proc/{parents.pop()}/task").glob("*/children"):
            with contextlib.suppress(OSError, psutil.Error):
                for pid in map(int, listed.read_text().split()):
                    found.append(psutil.Process(pid))
                    if recursive:
                        parents.append(pid)
    return found


def marked(run_dir: str) -> list[psutil.Process]:
    """Living processes of this user whose environment names ``run_dir`` as their run."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == run_dir and alive(process):
                found.append(process)
    return found


def members_of(cgroup: Cgroup | None) -> list[psutil.Process]:
    """Living processes in the run's control group, never this one."""
    found = []
    for pid in cgroup.pids() if cgroup is not None else ():
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if pid != os.getpid() and alive(process):
                found.append(process)
    return found


def identity_of(process: psutil.Process) -> ProcessIdentity:
    """Who the process is.

    Raises:
        psutil.Error: it has ended.
    """
    return ProcessIdentity.of(process.pid, create_time=process.create_time())


def children_now() -> frozenset[int]:
    """Pids of the children this process has at the moment."""
    return frozenset(child.pid for child in psutil.Process().children())


def alive(process: psutil.Process) -> bool:
    """Whether it is still this very process, and not just waiting to be collected."""
    try:
        return bool(process.is_running()) and not is_zombie(process)
    except psutil.Error:
        return False


def is_zombie(process: psutil.Process) -> bool:
    """Whether the process has ended and waits to be collected."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
