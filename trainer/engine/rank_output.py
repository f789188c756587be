"""What the ranks write, in one stream: each line once it is whole, with its rank before it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from trainer.engine.place import Place
from trainer.protocol.rank_files import rank_paths
from trainer.protocol.run_folder import RunPaths

_EVERY_S: Final = 0.1
_READ_BYTES: Final = 256 * 1024
_LINE_BYTES: Final = 64 * 1024  # a longer line comes out in pieces
_OUT: Final = 1
_PR_SET_PDEATHSIG: Final = 1


def join_the_others(place: Place, paths: RunPaths, attempt: int) -> None:
    """Write into the rank's own file from now on, and end with a checkpoint should torchrun be killed."""
    write_into(rank_paths(paths, attempt, place.rank).output)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


def stacks_of(place: Place, paths: RunPaths, attempt: int) -> Path:
    """Where this process writes its stacks."""
    return paths.stacks(attempt) if place.is_alone else rank_paths(paths, attempt, place.rank).stacks


def write_into(path: Path) -> None:
    """Let all that this process writes from now on go into ``path``, a native crash included.

    Raises:
        OSError: the file cannot be opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


class RankOutput:
    """Follows the files of all ranks in a thread; a file may come into being later."""

    def __init__(self, paths: Sequence[Path], *, out: int = _OUT) -> None:
        """``out`` is the file descriptor to write to."""
        self._followed = [_Followed(path, prefix=f"[rank {rank}] ") for rank, path in enumerate(paths)]
        self._out = out
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="rank-output", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Write what is left; the ranks must have ended."""
        self._ended.set()
        self._thread.join()
        for one in self._followed:
            _write(self._out, one.read(last=True))
            one.close()

    def _follow(self) -> None:
        while not self._ended.wait(_EVERY_S):
            for one in self._followed:
                _write(self._out, one.read())


class _Followed:
    def __init__(self, path: Path, *, prefix: str) -> None:
        self._path, self._prefix = path, prefix.encode()
        self._source = -1
        self._rest = b""

    def read(self, *, last: bool = False) -> bytes:
        """The lines that have come since, each with the prefix."""
        try:
            if self._source < 0:
                self._source = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            chunks = [self._rest]
            while chunk := os.read(self._source, _READ_BYTES):
                chunks.append(chunk)
                if not last:
                    break
        except OSError:
            return b""
        lines = b"".join(chunks).splitlines(keepends=True)
        is_open = bool(lines) and not lines[-1].endswith((b"\n", b"\r"))
        self._rest = b""
        if is_open and not last and len(lines[-1]) < _LINE_BYTES:
            self._rest = lines.pop()
        elif is_open:
            lines[-1] += b"\n"
        return b"".join(self._prefix + line for line in lines)

    def close(self) -> None:
        if self._source >= 0:
            os.close(self._source)


def _write(out: int, content: bytes) -> None:
    view = memoryview(content)
    with contextlib.suppress(OSError):  # a full disk: each rank's own file has what there was room for
        while view:
            view = view[os.write(out, view) :]
