"""Tails the numbered segments of one stream, from any position, and never misses a line.

Reading keeps no state on disk: whoever is read for says which seq it has, and
the reader finds the place.  A last line without its newline is still being
written and is left alone until it is whole.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

import orjson

from trainer.protocol.batches import Batch
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import segments
from trainer.supervisor.columns import batches, parse

READ_BYTES: Final = 512 * 1024
_LONGEST_LINE_BYTES: Final = 16 * 1024 * 1024
_LOOK_FOR_GAP_EVERY_S: Final = 1.0


class SpoolReader:
    """Delivers the events of one stream in batches, in order, from seq ``have + 1`` on."""

    def __init__(self, folder: Path, *, run: str, stream: Stream, have: int = 0) -> None:
        self._folder = folder
        self._run = run
        self._stream = stream
        self._segment: Path | None = None
        self._expected = folder  # where the next segment will be
        self._descriptor = -1
        self._offset = 0
        self._look_for_gap_at = 0.0
        self.have = have

    def read(self, *, max_events: int | None = None) -> list[Batch]:
        """The next batches, of up to :data:`READ_BYTES` of lines; empty when nothing new is whole."""
        while chunk := self._next_chunk():
            if max_events is not None:
                chunk = _first_lines(chunk, max_events)
            self._offset += len(chunk)
            events = parse(chunk, expected=self.have + 1)
            if events:
                self.have = events[-1]["seq"]
                return batches(events, run=self._run, stream=self._stream)
        return []

    def backlog_bytes(self) -> int:
        """Unread bytes of the open segment, then of the one behind it; 0 before the first read."""
        if self._descriptor < 0:
            return 0
        return os.fstat(self._descriptor).st_size - self._offset or _size(self._expected)

    def seek(self, have: int) -> None:
        """Continue behind seq ``have``, wherever the reader was before."""
        self.close()
        self.have = have

    def seek_end(self) -> None:
        """Continue behind the last whole line there is now."""
        self.seek(last_seq(self._folder))

    def close(self) -> None:
        """Let go of the open segment."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._segment, self._offset = -1, None, 0

    def _next_chunk(self) -> bytes:
        if self._segment is None and not self._open_at(self.have):
            return b""
        chunk = self._whole_lines()
        if not chunk and (following := self._following()) is not None:
            # what was written between the first look and the birth of the next segment
            chunk = self._whole_lines()
            if not chunk:
                self._open(following)
                chunk = self._whole_lines()
        return chunk

    def _whole_lines(self) -> bytes:
        size = READ_BYTES
        while True:
            chunk = os.pread(self._descriptor, size, self._offset)
            end = chunk.rfind(b"\n") + 1
            if end or len(chunk) < size or size >= _LONGEST_LINE_BYTES:
                return chunk[:end]
            size *= 2

    def _following(self) -> Path | None:
        """The next segment, when the trainer has begun it.

        It has the next number, which is cheap to look for; a gap in the numbers is looked for now and then.
        """
        if self._segment is not None:
            if self._expected.exists():
                return self._expected
            if time.monotonic() < self._look_for_gap_at:
                return None
        self._look_for_gap_at = time.monotonic() + _LOOK_FOR_GAP_EVERY_S
        later = [path for path in segments(self._folder) if self._segment is None or path > self._segment]
        return later[0] if later else None

    def _open_at(self, have: int) -> bool:
        """Open the last segment that can hold seq ``have + 1``; False while there is none."""
        chosen = None
        for path in segments(self._folder):
            first = _first_seq(path)
            if chosen is not None and (first is None or first > have + 1):
                break
            chosen = path
        if chosen is None:
            return False
        self._open(chosen)
        return True

    def _open(self, path: Path) -> None:
        self.close()
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._segment = path
        self._expected = self._folder / f"{int(path.stem) + 1:06d}.jsonl"


def last_seq(folder: Path) -> int:
    """Seq of the last whole, readable line of a stream; 0 when there is none."""
    for path in reversed(segments(folder)):
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - READ_BYTES))
            tail = file.read()
        for line in reversed(tail[: tail.rfind(b"\n") + 1].splitlines()):
            seq = _seq(line)
            if seq is not None:
                return seq
    return 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _first_seq(path: Path) -> int | None:
    with path.open("rb") as file:
        return _seq(file.readline())


def _seq(line: bytes) -> int | None:
    try:
        seq = orjson.loads(line)["seq"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return seq if isinstance(seq, int) and not isinstance(seq, bool) else None


def _first_lines(chunk: bytes, count: int) -> bytes:
    end = 0
    for _ in range(count):
        following = chunk.find(b"\n", end) + 1
        if not following:
            break
        end = following
    return chunk[:end]
