"""Who holds the lock of a run folder, asked of the kernel without taking the lock.

Trying to take the lock would make a supervisor that starts at that very moment
give up, so this asks with ``F_GETLK``, which also names the holder: a pid the
kernel vouches for, unlike one read from a file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from pathlib import Path
from typing import Final

# struct flock: Linux has type, whence, start, len, pid; the BSDs (macOS) start, len, pid, type, whence.
_IS_BSD_LAYOUT: Final = sys.platform == "darwin"
_FLOCK: Final = struct.Struct("qqihh" if _IS_BSD_LAYOUT else "hhqqi4x")


def lock_holder(path: Path) -> int | None:
    """The pid holding a POSIX lock on ``path``, or None when it is free or missing."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as exc:
        if exc.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise
    try:
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, _question())
    finally:
        os.close(descriptor)
    fields = _FLOCK.unpack(answer)
    kind, pid = (fields[3], fields[2]) if _IS_BSD_LAYOUT else (fields[0], fields[4])
    return None if kind == fcntl.F_UNLCK else int(pid)


def _question() -> bytes:
    if _IS_BSD_LAYOUT:
        return _FLOCK.pack(0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
    return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
