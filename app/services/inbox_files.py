"""The inbox on disk: what lies there, whether it is complete, and moving it without loss.

Names are bytes here, because a name need not be text.  Nothing is followed: a
symbolic link, a pipe or a folder is seen as what it is and never opened.
Layout: ``inbox/``, ``inbox/high``, ``inbox/normal``, ``inbox/low`` for
drops, ``inbox/.taken/ID`` for the file being checked, ``inbox/quarantine``
for what cannot be used.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import stat
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from app.domain.priorities import PRIORITIES
from app.services.datasets import QUARANTINE
from trainer.datasets.kinds.registry import endings_of, kinds
from trainer.protocol.files import sync_folder

TAKEN: Final = ".taken"
SIDECAR: Final = b".json"
PARTIAL: Final = (b".part", b".partial", b".tmp", b".crdownload", b".download", b".filepart")
MAX_ENTRIES: Final = 20_000  # looked at per folder and look
MAX_SEEN: Final = 1_000  # of these, taken note of
MAX_NAME_BYTES: Final = 150  # of a name we give; file systems allow 255, and endings are added
BLOCK_BYTES: Final = 4 * 1024 * 1024
_ENDINGS: Final = tuple(ending.encode() for ending in endings_of(kinds()))
_SPECIAL: Final = frozenset(os.fsencode(name) for name in (*PRIORITIES, QUARANTINE))


class Vanished(Exception):
    """The file is neither where it was nor where it was to go."""


class Interrupted(Exception):
    """A copy was given up because the server ends; it is begun anew later."""


@dataclass(frozen=True)
class Look:
    """One entry of the inbox as it was found: equal looks mean that nothing has changed.

    ``kind`` is file, folder, link or other; ``sidecar`` is size and time of the file's ``NAME.json``.
    """

    path: bytes
    priority: int
    kind: str
    num_bytes: int
    mtime_ns: int
    inode: str
    sidecar: tuple[int, int] | None

    @property
    def name(self) -> str:
        """The name for people: bytes that are no text are replaced."""
        return shown(os.path.basename(self.path))  # noqa: PTH119 - bytes


def shown(name: bytes) -> str:
    """A file name as text."""
    return name.decode("utf-8", "replace")


def inode_of(found: os.stat_result) -> str:
    """Device and number in one word; together they are one file for as long as it exists."""
    return f"{found.st_dev}:{found.st_ino}"


def look_around(inbox: Path) -> tuple[list[Look], int]:
    """The candidates of the inbox, oldest first, and how many more there are than are noted.

    Dotfiles, partial downloads and sidecars are passed over, and so is a subfolder that is a link.

    Raises:
        OSError: the inbox cannot be read.
    """
    root = os.fsencode(inbox)
    found = _look_into(root, priority=0, is_root=True)
    for word, priority in PRIORITIES.items():
        folder = os.path.join(root, os.fsencode(word))  # noqa: PTH118 - bytes
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.lstat(folder).st_mode):
                found += _look_into(folder, priority=priority, is_root=False)
    found.sort(key=lambda one: (-one.priority, one.mtime_ns, one.path))
    return found[:MAX_SEEN], max(0, len(found) - MAX_SEEN)


def _look_into(folder: bytes, *, priority: int, is_root: bool) -> list[Look]:
    with os.scandir(folder) as entries:
        members = {entry.name: entry for entry in islice(entries, MAX_ENTRIES)}
    looks = []
    for name, entry in members.items():
        if name.startswith(b".") or name.lower().endswith(PARTIAL) or _is_sidecar(name, members):
            continue
        if is_root and name in _SPECIAL:
            continue
        with contextlib.suppress(OSError):  # gone meanwhile
            found = entry.stat(follow_symlinks=False)
            beside = members.get(name + SIDECAR)
            wish = None
            if beside is not None:
                its = beside.stat(follow_symlinks=False)
                wish = (its.st_size, its.st_mtime_ns)
            facts = (_kind(found), found.st_size, found.st_mtime_ns, inode_of(found))
            looks.append(Look(entry.path, priority, *facts, wish))
    return looks


def _is_sidecar(name: bytes, members: Mapping[bytes, object]) -> bool:
    """Whether it belongs to a file that is there or still to come; other ``.json`` are datasets."""
    if not name.lower().endswith(SIDECAR):
        return False
    stem = name[: -len(SIDECAR)]
    return stem in members or stem.lower().endswith(_ENDINGS)


def _kind(found: os.stat_result) -> str:
    if stat.S_ISREG(found.st_mode):
        return "file"
    if stat.S_ISDIR(found.st_mode):
        return "folder"
    return "link" if stat.S_ISLNK(found.st_mode) else "other"


def is_being_written(path: bytes) -> bool:
    """Whether some process has the file open for writing, where the system can tell (Linux, local disks).

    A read lease is granted only while nobody has; it is given back at once.  Should somebody open the
    file in between, SIGURG tells us, which nobody listens to.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as exc:
        return exc.errno == errno.EAGAIN
    finally:
        os.close(descriptor)
    return False


def safe_name(name: bytes) -> tuple[str, str]:
    """Stem and ending of a name that is harmless everywhere: letters, digits, dots, dashes, underscores."""
    text = unicodedata.normalize("NFC", name.decode("utf-8", "replace"))
    stem, dot, ending = text.rpartition(".")
    if not dot or not stem:
        stem, ending = text, ""
    kept = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in stem)
    stem = kept.strip("._-") or "dataset"
    while len(stem.encode()) > MAX_NAME_BYTES:
        stem = stem[:-1]
    ending = "".join(letter for letter in ending.lower() if letter.isascii() and letter.isalnum())[:10]
    return stem, f".{ending}" if ending else ""


def free_name(folder: Path, stem: str, ending: str, *, is_taken: Callable[[bytes], bool]) -> bytes:
    """A path in ``folder`` that neither exists nor is promised to anybody: ``stem``, ``stem-2``, …"""
    number = 1
    while True:
        numbered = stem if number == 1 else f"{stem}-{number}"
        path = os.fsencode(folder / f"{numbered}{ending}")
        if not os.path.lexists(path) and not is_taken(path):
            return path
        number += 1


def move(
    source: bytes, goal: bytes, *, expected: tuple[str, int, int], should_stop: Callable[[], bool]
) -> os.stat_result:
    """Move a file, also to another file system; doing it again after any crash completes it.

    Args:
        source: where it is, unless an earlier call got further.
        goal: a name that is only ever given to this file.
        expected: inode, size and time of the file to be moved; whatever else lies at ``source`` stays.
        should_stop: asked between blocks of a copy.
    Returns:
        What lies at ``goal`` now.
    Raises:
        Vanished: the file is at neither place.
        Interrupted: ``should_stop`` said so.
        OSError: the disk is full, or the like; nothing is lost.
    """
    present, arrived = _lstat(source), _lstat(goal)
    if arrived is not None:
        if present is not None and (inode_of(present), present.st_size, present.st_mtime_ns) == expected:
            os.unlink(source)  # it was copied, and the crash came before this  # noqa: PTH108 - bytes
        return arrived
    if present is None:
        raise Vanished
    folder = Path(os.fsdecode(goal)).parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.rename(source, goal)  # noqa: PTH104 - bytes
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
        copy_aside(source, goal, should_stop=should_stop)
        sync_folder(folder)
        os.unlink(source)  # noqa: PTH108 - bytes
    sync_folder(folder)
    return os.lstat(goal)


def copy_aside(source: bytes, goal: bytes, *, should_stop: Callable[[], bool]) -> None:
    """Copy to a name beside ``goal``, sync, rename: ``goal`` is whole or not there.

    Raises:
        Interrupted: ``should_stop`` said so between two blocks.
        OSError: the disk is full, or the like; nothing is left behind.
    """
    aside = goal + b".part"
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        writing = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            while block := os.read(reading, BLOCK_BYTES):
                if should_stop():
                    raise Interrupted
                remaining = memoryview(block)
                while remaining:
                    remaining = remaining[os.write(writing, remaining) :]
            os.fsync(writing)
        finally:
            os.close(writing)
        os.rename(aside, goal)  # noqa: PTH104 - bytes
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)  # noqa: PTH108 - bytes
        raise
    finally:
        os.close(reading)


def _lstat(path: bytes) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
