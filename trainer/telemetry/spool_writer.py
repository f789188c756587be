"""The trainer's end of the spool: whole JSON lines appended to numbered segments.

One ``os.write`` per event on a file opened for append: what was written is in
the kernel when the call returns, so killing the process loses nothing. The
supervisor syncs the file, so a write never waits for the disk.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from pathlib import Path
from typing import Final

from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import check_event
from trainer.protocol.run_folder import SEGMENT_BYTES, segments
from trainer.telemetry.plain_json import loads

_CLOSED: Final = -1


class SpoolWriter:
    """Numbers event lines and appends them; thread-safe, never raises.

    Opening an existing spool continues its numbering after the last whole
    line; bytes after that line (a torn write) are cut off. An event that
    cannot be written is counted in ``lost_events`` and takes no number, so the
    stream has no gap.
    """

    def __init__(self, folder: Path) -> None:
        self.lost_events = 0
        self._folder = folder
        self._lock = threading.Lock()
        self._descriptor = _CLOSED
        self._segment = 1
        self._bytes = 0  # in the current segment
        self._seq = 0
        self._closed = False
        self._recovered = False
        with contextlib.suppress(OSError):  # the first append tries again, and counts what it cannot write
            self._recover()
        _mute_in_forked_children(self)

    @property
    def seq(self) -> int:
        """Number of the last event written, 0 before the first."""
        return self._seq

    def append(self, fields: bytes) -> bool:
        """Append one event; ``fields`` is the JSON object without its opening brace, seq and t.

        Returns whether the event is in the spool.
        """
        with self._lock:
            line = b'{"seq":%d,"t":%.6f,%b\n' % (self._seq + 1, time.time(), fields)
            try:
                if self._descriptor == _CLOSED or self._bytes + len(line) > SEGMENT_BYTES:
                    self._open_for(len(line))
                written = os.write(self._descriptor, line)
                if written != len(line):  # the disk filled up inside the line
                    os.ftruncate(self._descriptor, self._bytes)
                    raise OSError("short write")
            except OSError:
                self.lost_events += 1
                return False
            self._seq += 1
            self._bytes += written
            return True

    def close(self) -> None:
        """Close the segment; later events are counted as lost."""
        with self._lock:
            self._closed = True
            if self._descriptor != _CLOSED:
                os.close(self._descriptor)
                self._descriptor = _CLOSED

    def mute(self) -> None:
        """Stop writing in a forked child, which must not number events beside its parent."""
        self._lock = threading.Lock()  # the parent's may have been held at the fork
        self._closed = True
        self._descriptor = _CLOSED

    def _open_for(self, num_bytes: int) -> None:
        if self._closed:
            raise OSError("the spool is closed")
        if not self._recovered:
            self._recover()
        if self._bytes and self._bytes + num_bytes > SEGMENT_BYTES:
            if self._descriptor != _CLOSED:
                os.close(self._descriptor)
                self._descriptor = _CLOSED
            self._segment += 1
            self._bytes = 0
        if self._descriptor == _CLOSED:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{self._segment:06d}.jsonl"
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._bytes = os.fstat(self._descriptor).st_size

    def _recover(self) -> None:
        """Go on in the newest segment, numbering after the last whole line of all of them."""
        for path in reversed(segments(self._folder)):
            seq, num_bytes = _last_whole_line(path.read_bytes())
            if num_bytes != path.stat().st_size:
                os.truncate(path, num_bytes)
            if int(path.stem) > self._segment:
                self._segment, self._bytes = int(path.stem), num_bytes
            if seq:
                self._seq = seq
                break
        self._recovered = True


def _last_whole_line(content: bytes) -> tuple[int, int]:
    """``(seq, end)`` of the last well-formed line of a segment, ``(0, 0)`` where there is none."""
    end = content.rfind(b"\n") + 1
    while end:
        start = content.rfind(b"\n", 0, end - 1) + 1
        try:
            return int(check_event(loads(content[start:end]))["seq"]), end
        except (ProtocolError, ValueError):
            end = start
    return 0, 0


def _mute_in_forked_children(writer: SpoolWriter) -> None:
    reference = weakref.ref(writer)

    def mute() -> None:
        alive = reference()
        if alive is not None:
            alive.mute()

    os.register_at_fork(after_in_child=mute)
