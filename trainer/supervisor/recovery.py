"""What an earlier supervisor may have left behind: a trainer, files of its launch, a place to go on from."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object
from trainer.protocol.process_identity import ProcessIdentity
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.cgroup import Cgroup
from trainer.supervisor.tree import alive, identity_of, marked, members_of

log = logging.getLogger(__name__)
_HASH_BYTES = 1 << 20
_SKIPPED = ".skipped"


class SurvivorsLeft(Exception):
    """Processes of an earlier attempt cannot be ended; the message names their pids."""


def last_attempt(paths: RunPaths) -> int:
    """The number of the newest attempt, 0 before the first."""
    folders = (paths.root / "attempts").glob("[0-9][0-9][0-9]")
    return max((int(folder.name) for folder in folders), default=0)


def process_record(paths: RunPaths, attempt: int) -> Path:
    """Where the trainer of ``attempt`` is recorded: its identity, and its control group."""
    return paths.attempt(attempt) / "process.json"


def clear_leftovers(paths: RunPaths, *, grace_s: float) -> list[int]:
    """End what an earlier attempt left running, and give its control group back; returns the pids found.

    The trainer was told to stop when its supervisor died and may be saving a
    checkpoint: it gets its grace.

    Raises:
        SurvivorsLeft: something does not end even when killed.
    """
    found = survivors(paths)
    if found:
        _end(paths, found, grace_s=grace_s)
    for group in _groups(paths):
        group.remove()
    return sorted(process.pid for process in found)


def _end(paths: RunPaths, found: list[psutil.Process], *, grace_s: float) -> None:
    log.warning("an earlier attempt still runs: %s", sorted(process.pid for process in found))
    _send(found, signal.SIGTERM)
    _send(found, signal.SIGCONT)
    _await_end(found, grace_s)
    deadline = time.monotonic() + 5.0
    while left := survivors(paths):
        if time.monotonic() > deadline:
            pids = ", ".join(str(process.pid) for process in left)
            raise SurvivorsLeft(f"processes {pids} of an earlier attempt cannot be killed: reboot")
        _send(left, signal.SIGKILL)
        _await_end(left, 0.2)


def survivors(paths: RunPaths) -> list[psutil.Process]:
    """Living processes of this run: recorded as trainers, in its control group, or carrying its mark."""
    found = {process.pid: process for process in marked(str(paths.root))}
    for group in _groups(paths):
        found.update({process.pid: process for process in members_of(group)})
    for record in _records(paths):
        with contextlib.suppress(psutil.Error, KeyError, TypeError, ValueError):
            recorded = ProcessIdentity.read(record)
            process = psutil.Process(recorded.pid)
            if recorded.is_same(identity_of(process)) and alive(process):
                found.setdefault(process.pid, process)
    return list(found.values())


def _records(paths: RunPaths) -> Iterator[dict[str, Any]]:
    """What is written of each attempt's trainer, first to last."""
    for attempt in range(1, last_attempt(paths) + 1):
        with contextlib.suppress(ProtocolError):
            yield read_object(process_record(paths, attempt))


def _groups(paths: RunPaths) -> Iterator[Cgroup]:
    """The control groups that earlier attempts left behind."""
    for record in _records(paths):
        group = Cgroup.of_record(record.get("cgroup"), run_dir=str(paths.root))
        if group is not None:
            yield group


def resume_step(paths: RunPaths) -> int:
    """The step of the newest checkpoint that is whole, where the next attempt begins; 0 without one."""
    return next(iter(verified_steps(paths, most=1)), 0)


def verified_steps(paths: RunPaths, *, most: int) -> tuple[int, ...]:
    """Steps of the newest checkpoints that are whole, newest first, at most ``most``.

    The same rule as the trainer's: newest manifest whose file has its size and checksum.
    """
    found: list[int] = []
    for step, manifest in _by_step(paths):
        if len(found) == most:
            break
        with contextlib.suppress(ProtocolError, OSError, KeyError, TypeError, ValueError):
            said = read_object(manifest)
            file = paths.checkpoints / Path(str(said["file"])).name
            if file.stat().st_size == int(said["bytes"]) and _sha256(file) == said["sha256"]:
                found.append(step)
    return tuple(found)


def set_aside_checkpoints(paths: RunPaths, *, after_step: int) -> None:
    """Keep those beyond ``after_step`` under the suffix ``.skipped``, where nobody resumes from them.

    Raises:
        OSError: the disk refuses.
    """
    for step, manifest in _by_step(paths):
        if step <= after_step:
            break
        for path in (
            manifest,
            manifest.with_suffix(".pt"),
        ):  # the manifest first: what lacks one does not count
            with contextlib.suppress(FileNotFoundError):
                path.replace(path.with_name(f"{path.name}{_SKIPPED}"))
    forget_set_aside(paths, but_newest=True)


def forget_set_aside(paths: RunPaths, *, but_newest: bool = False) -> None:
    """Remove checkpoints that were set aside: they are large, and nobody resumes from them.

    Args:
        paths: of the run.
        but_newest: leave the one of the highest step for a person who wants to look into it.
    Raises:
        OSError: the disk refuses.
    """
    files = list(paths.checkpoints.glob(f"step_*{_SKIPPED}"))
    newest = max((_step_of(file) for file in files), default=None)
    for file in files:
        if not (but_newest and _step_of(file) == newest):
            file.unlink(missing_ok=True)


def _step_of(file: Path) -> int:
    number = file.name.removeprefix("step_").split(".")[0]
    return int(number) if number.isdigit() else -1


def _by_step(paths: RunPaths) -> list[tuple[int, Path]]:
    """Manifests with the step in their names, newest first."""
    found = []
    for manifest in paths.checkpoints.glob("step_*.json"):
        number = manifest.stem.removeprefix("step_")
        if number.isdigit():
            found.append((int(number), manifest))
    return sorted(found, reverse=True)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_HASH_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _send(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def _await_end(processes: list[psutil.Process], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and any(alive(process) for process in processes):
        time.sleep(0.05)
