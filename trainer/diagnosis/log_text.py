"""A log as lines: decoded, without colours, bars unrolled, long lines cut; and which lines are progress."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Final

HEAD_BYTES: Final = 128 * 1024
TAIL_BYTES: Final = 512 * 1024
_LINE_CHARACTERS: Final = 2000
_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_PROGRESS: Final = re.compile(
    r"\d+%\|.*\|\s*\d+/\d+|^\W*\{'(?:train_)?loss': |\b(?:step|iter(?:ation)?|batch"
    r"|epoch)\W{0,3}\d+.*\b(?:loss|lr|it/s)\b"
    r"|\bloss\b.*\b(?:step|iter(?:ation)?|batch|epoch)\W{0,3}\d+"
    r"|^\S+::\S+ (?:PASSED|FAILED|SKIPPED)|^tests?/\S+\.py [.sFx]+"
    r"|\b(?:saved|saving|wrote) (?:model )?checkpoint",
    re.I,
)
_COMPLETED: Final = re.compile(
    r"training (?:has )?(?:is )?(?:been )?(?:complete|finished|done|succeeded)|\bfinished training\b"
    r"|^done\b"
    r"|'train_runtime': |=+ .*\b\d+ passed\b.* in [\d.]+s|\ball done\b|\b(?:run|job) (?:complete|finished"
    r"|succeeded)",
    re.I,
)


@dataclass(frozen=True)
class Log:
    """The lines of a log."""

    lines: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Log:
        """Unroll ``text``: carriage returns end lines too, colours go, NULs go, endless lines are cut."""
        plain = _ANSI.sub("", text.replace("\x00", ""))
        return cls(tuple(line[:_LINE_CHARACTERS].rstrip() for line in re.split(r"\r\n|\n|\r", plain)))

    @cached_property
    def text(self) -> str:
        """All lines, one after the other."""
        return "\n".join(self.lines)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    def line_at(self, offset: int) -> int:
        """The index of the line that holds character ``offset`` of :attr:`text`."""
        return min(bisect_right(self._starts, offset) - 1, len(self.lines) - 1)

    def start_of(self, index: int) -> int:
        """Where line ``index`` begins in :attr:`text`."""
        return self._starts[index]

    @cached_property
    def progress(self) -> list[int]:
        """Lines that show training (or a test suite) advancing, repeats left out."""
        found, seen = [], ""
        for index, line in enumerate(self.lines):
            if _PROGRESS.search(line) and line != seen:
                found.append(index)
                seen = line
        return found

    @cached_property
    def advancing(self) -> frozenset[int]:
        """The same lines, to ask about one of them."""
        return frozenset(self.progress)

    @cached_property
    def completed(self) -> int:
        """The last line that says the work is done; -1 without one."""
        return max((index for index, line in enumerate(self.lines) if _COMPLETED.search(line)), default=-1)

    @cached_property
    def survived_until(self) -> int:
        """The first line that was not followed by work (three lines of it) or by a good end."""
        return max(self.progress[-3] if len(self.progress) >= 3 else 0, self.completed, 0)

    def went_on_after(self, index: int) -> bool:
        """Whether there was work, or a good end, after line ``index``: what it says was survived."""
        return index < self.survived_until


def read_log(path: Path) -> str:
    """Head and tail of a log of any size, decoded however badly it is encoded.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        if path.is_file() and path.stat().st_size > HEAD_BYTES + TAIL_BYTES:
            head = file.read(HEAD_BYTES)
            file.seek(-TAIL_BYTES, 2)
            return _joined(head, file.read(TAIL_BYTES))
        return read_stream(file)


def read_stream(file: BinaryIO) -> str:
    """The same of something that cannot be rewound; memory stays bounded however much comes."""
    head = file.read(HEAD_BYTES)
    tail, cut = b"", False
    while block := file.read(TAIL_BYTES):
        cut = cut or len(tail) + len(block) > TAIL_BYTES
        tail = (tail + block)[-TAIL_BYTES:]
    return _joined(head, tail) if cut else decode(head + tail)


def decode(raw: bytes) -> str:
    """Text of ``raw``; UTF-16 (PowerShell's redirection) and broken UTF-8 included."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    return raw.decode("utf-8-sig", "replace")


def _joined(head: bytes, tail: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        kind = "utf-16-le" if head[:2] == b"\xff\xfe" else "utf-16-be"
        return head.decode(kind, "replace") + "\n" + tail[len(tail) % 2 :].decode(kind, "replace")
    return decode(head) + "\n" + tail.decode("utf-8", "replace")
