"""The output as people will see it: ``console.log``, made from what the trainer wrote.

A trainer may print a line of 100 MB, or a million lines a second; the browser
and the database must not notice.  Lines are cut at 16 KiB and a budget of bytes
per second skips the middle of a flood, saying how much.  The newest bytes are
always shown, so a traceback at the end is never lost.  The trainer's own file
stays as it is.

Offsets on the wire count bytes of ``console.log``, which is identical to
``output.log`` as long as nothing was cut.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Final

from trainer.protocol.batches import OUTPUT_LINE_BYTES
from trainer.protocol.run_folder import RunPaths

log = logging.getLogger(__name__)
BYTES_PER_S: Final = 256 * 1024
BURST_BYTES: Final = 1024 * 1024
ALWAYS_SHOWN_BYTES: Final = 64 * 1024
_READ_BYTES: Final = 256 * 1024
_CUT: Final = b" ... [line cut at 16 KiB]"


def console_path(paths: RunPaths, attempt: int) -> Path:
    """Where the shown output of ``attempt`` lies."""
    return paths.attempt(attempt) / "console.log"


class Console:
    """Copies output to ``console.log``, bounded; picks up where a dead supervisor left off."""

    def __init__(self, paths: RunPaths, attempt: int) -> None:
        self._source_path = paths.output(attempt)
        self._source = -1
        folder = paths.attempt(attempt)
        folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._shown = os.open(console_path(paths, attempt), flags | os.O_APPEND, 0o644)
        self._mark = os.open(folder / "console.mark", flags, 0o644)
        stored = os.pread(self._mark, 8, 0)
        self._position = int.from_bytes(stored, "little") if len(stored) == 8 else 0
        self._budget = float(BURST_BYTES)
        self._filled_at = time.monotonic()
        self._line_bytes = 0
        self.skipped_bytes = 0

    def update(self, *, last: bool = False) -> int:
        """Copy what is new and affordable; returns the bytes shown. ``last`` shows the end at any price."""
        if self._source < 0:
            try:
                self._source = os.open(self._source_path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return 0
        try:
            return self._copy(last=last)
        except OSError as exc:  # a full disk: shown later, when it takes bytes again
            log.debug("console.log: %s", exc)
            return 0

    def close(self) -> None:
        """Let go of the files."""
        for descriptor in (self._source, self._shown, self._mark):
            if descriptor >= 0:
                os.close(descriptor)

    def _copy(self, *, last: bool) -> int:
        self._refill()
        size = os.fstat(self._source).st_size
        allowed = max(int(self._budget), ALWAYS_SHOWN_BYTES if last else 0)
        shown = self._skip_to(size - allowed) if size - self._position > allowed else 0
        while self._position < size:
            chunk = os.pread(self._source, min(_READ_BYTES, size - self._position), self._position)
            if not chunk:
                break
            shown += self._show(self._bounded_lines(chunk))
            self._position += len(chunk)
            self._budget -= len(chunk)
            os.pwrite(self._mark, self._position.to_bytes(8, "little"), 0)
        return shown

    def _refill(self) -> None:
        now = time.monotonic()
        self._budget = min(float(BURST_BYTES), self._budget + (now - self._filled_at) * BYTES_PER_S)
        self._filled_at = now

    def _skip_to(self, target: int) -> int:
        """Continue at the line that begins behind ``target`` and say what was left out."""
        look = os.pread(self._source, OUTPUT_LINE_BYTES, target)
        target += look.find(b"\n") + 1
        num_bytes = target - self._position
        if num_bytes <= 0:
            return 0
        self.skipped_bytes += num_bytes
        self._position = target
        lead = b"\n" if self._line_bytes else b""
        self._line_bytes = 0
        place = self._source_path.relative_to(self._source_path.parents[2])
        skipped = f"{num_bytes:,} bytes not shown, {self.skipped_bytes:,} in all"
        return self._show(lead + f"[{skipped}; the whole output is in {place}]\n".encode())

    def _bounded_lines(self, chunk: bytes) -> bytes:
        """``chunk`` with what is too long cut; a carriage return starts a line anew, as progress bars do."""
        if self._line_bytes + len(chunk) <= OUTPUT_LINE_BYTES:
            ends = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
            self._line_bytes = self._line_bytes + len(chunk) if ends < 0 else len(chunk) - ends - 1
            return chunk
        kept = bytearray()
        for line in chunk.splitlines(keepends=True):
            before, self._line_bytes = self._line_bytes, self._line_bytes + len(line)
            ending = line[-1:] if line[-1:] in (b"\n", b"\r") else b""
            if self._line_bytes <= OUTPUT_LINE_BYTES:
                kept += line
            elif before <= OUTPUT_LINE_BYTES:
                kept += line[: OUTPUT_LINE_BYTES - before] + _CUT + ending
            else:
                kept += ending
            if ending:
                self._line_bytes = 0
        return bytes(kept)

    def _show(self, content: bytes) -> int:
        view = memoryview(content)
        while view:
            view = view[os.write(self._shown, view) :]
        return len(content)
