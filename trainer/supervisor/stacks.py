"""Where a stuck trainer stands: its Python stacks, asked for without waiting, and read without guessing.

The trainer's handler for SIGUSR1 (see ``trainer.engine.__main__``) writes them
into ``stacks.txt`` of the attempt, also while the interpreter lock is held.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from trainer.supervisor.hangs import Hang

MAX_BYTES: Final = 48 * 1024
_WAIT_S: Final = 3.0
_SETTLED_S: Final = 0.2
_FRAME: Final = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.+)$')
_THREAD: Final = re.compile(r"^(Current thread|Thread) 0x[0-9a-f]+")


@dataclass(frozen=True)
class Frame:
    """One Python call; ``line`` is 0 where the interpreter could not tell."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.function} ({'/'.join(Path(self.file).parts[-3:])}:{self.line})"


@dataclass(frozen=True)
class Place:
    """Where it is stuck: the kind of code in a word, the frame that says so, and our own frame above it."""

    kind: str
    frame: Frame
    caller: Frame

    def to_json(self) -> dict[str, Any]:
        """The fields of a ``stacks`` event that name the place."""
        return {"code": self.kind, "frame": str(self.frame), "caller": str(self.caller)}


_LOCK: Final = "lock"
# in this order, tried on the frames of the main thread from the innermost outwards
_KINDS: Final = (
    ("DataLoader", re.compile(r"/torch/utils/data/|/multiprocessing/(connection|queues|pool)\.py$")),
    ("generate", re.compile(r"/transformers/generation/")),
    (_LOCK, re.compile(r"/(threading|queue)\.py$|/concurrent/futures/|/multiprocessing/synchronize\.py$")),
    ("io", re.compile(r"/(socket|ssl|subprocess|selectors|shutil|tarfile|zipfile)\.py$|/http/|/urllib3?/")),
)
_WAITING: Final = re.compile(r"/(threading|queue|selectors|socket)\.py$")
_NATIVE: Final = re.compile(r"/(faiss|torch|numpy|scipy|sklearn)/")
_OPENMP: Final = re.compile(r"(^|/)lib(gomp|iomp5|omp)\b")
_OUTSIDE: Final = re.compile(r"\.so[.\d]*$|\.dylib$|\.(c|cc|cpp|h|S|rs)$|^\[|^$")  # not Python
_INNERMOST: Final = 4
_LIBRARY: Final = re.compile(r"/(site|dist)-packages/|/lib/python3\.\d+/|^<")


def threads(text: str) -> list[list[Frame]]:
    """The stacks of the newest dump in ``text``, innermost frame first; the main thread comes last."""
    found: list[list[Frame]] = []
    for line in text.splitlines():
        if _THREAD.match(line):
            found.append([])
        elif found and (match := _FRAME.match(line)):
            number = match["line"]
            found[-1].append(Frame(match["file"], int(number) if number.isdigit() else 0, match["function"]))
    return [frames for frames in found if frames]


def place(stacks: Sequence[Sequence[Frame]], hang: Hang) -> Place | None:
    """Pick the frame that matters, out of the main thread's, and say what kind of code it is.

    Where something computes although the main thread waits for a lock, a thread that does not
    wait is the place.  faulthandler shows no native frames: a wait of OpenMP is told by a call
    into a library that computes, in which nothing computes.  py-spy shows them.
    """
    if not stacks:
        return None
    found = _place_in(stacks[-1], hang)
    if found.kind == _LOCK and hang not in (Hang.DEADLOCKED, Hang.BLOCKED_ON_IO):
        others = [frames for frames in stacks[:-1] if not _WAITING.search(frames[0].file)]
        return _place_in(others[0], hang) if others else found
    return found


def _place_in(stack: Sequence[Frame], hang: Hang) -> Place:
    waits_in_openmp = any(_OPENMP.search(frame.file) for frame in stack[:_INNERMOST])
    frames = [frame for frame in stack if not _OUTSIDE.search(frame.file)] or stack
    caller = next((frame for frame in frames if not _LIBRARY.search(frame.file)), frames[-1])
    for kind, pattern in _KINDS:
        frame = next((frame for frame in frames if pattern.search(frame.file)), None)
        # every thread but the main one begins in threading.py
        if frame is not None and not frame.function.startswith(("_bootstrap", "run")):
            return Place(kind, frame, caller)
    generating = next((frame for frame in frames if frame.function == "generate"), None)
    if generating is not None:
        return Place("generate", generating, caller)
    if hang is Hang.BLOCKED_ON_IO:
        return Place("io", frames[0], caller)
    if hang is Hang.DEADLOCKED:
        is_openmp = waits_in_openmp or _NATIVE.search(frames[0].file)
        return Place("OpenMP" if is_openmp else _LOCK, frames[0], caller)
    return Place("user code", caller, caller)


class Answers(Protocol):
    """A process that can be asked where it stands."""

    def ask_for_stacks(self) -> bool:
        """Ask it; False when it could not answer."""


class StackRequest:
    """One dump, from the signal to the text; look at it until ``is_over``."""

    def __init__(self, trainer: Answers, path: Path) -> None:
        """Ask, if the trainer is ready to answer."""
        self._path = path
        self._asked_at = self._changed_at = time.monotonic()
        self._offset = self._size = _size(path)
        self.text = ""
        self.is_over = not (path.exists() and trainer.ask_for_stacks())

    @property
    def decisive(self) -> str:
        """The part of the text that tells where it stands: all of it."""
        return self.text

    def look(self) -> None:
        """Read the dump once it grows no more; give up after a few seconds."""
        if self.is_over:
            return
        now = time.monotonic()
        size = _size(self._path)
        if size != self._size:
            self._size, self._changed_at = size, now
        has_settled = size > self._offset and now - self._changed_at >= _SETTLED_S
        if has_settled or now - self._asked_at >= _WAIT_S:
            self.is_over = True
            self.text = _read(self._path, self._offset)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read(path: Path, offset: int) -> str:
    """The dump from ``offset``; of a very long one its end, where the main thread is."""
    try:
        with path.open("rb") as file:
            file.seek(max(offset, _size(path) - MAX_BYTES))
            return file.read(MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
