"""Reads what a user's own script prints, and writes what it means into the trainer's stream.

From there on a script is like any trainer: the tally, the watch for hangs, the
alerts and the dashboard see its steps. As soon as the script reports itself
(see :mod:`trainer.protocol.spool_claim`) nothing more is read. The file is read
in small pieces, at most a moment at a time: a flood of output costs the
supervisor neither its punctuality nor its memory, and what is left out is told.

A script may print a step just before it reports it for the first time. So what
was read first waits a moment, and everything does while the script has opened
its run without having reported yet.
"""

from __future__ import annotations

import codecs
import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import orjson

from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import Command, EventType, Stream, encode_number
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.protocol.spool_claim import SpoolClaim
from trainer.telemetry.output.reader import OutputReader
from trainer.telemetry.output.settings import OutputSettings
from trainer.telemetry.spool_writer import SpoolWriter

log = logging.getLogger(__name__)
RECIPE: Final = "script"
READ_BYTES: Final = 32 * 1024
LOOK_S: Final = 0.05  # of reading per look
END_S: Final = 2.0  # of reading after the end
HOLD_FIRST_S: Final = 1.0  # before the first reading is believed to be all the script will say
HOLD_S: Final = 2.0  # each reading of a script that may come to report itself
MOST_BEHIND_BYTES: Final = 4 * 1024 * 1024


class OutputWatch:
    """Follows the output of one attempt.

    ``heard_at`` is when the output last grew (monotonic): the sign of life of
    a script that says nothing of its training. ``is_reading`` is False once
    the script reports itself, or when nothing is to be read.
    """

    def __init__(self, paths: RunPaths, *, attempt: int, from_step: int, settings: OutputSettings) -> None:
        self.heard_at = time.monotonic()
        self.is_reading = settings.reads
        self.skipped_bytes = 0
        self._path = paths.output(attempt)
        self._folder = paths.spool(Stream.TRAINER)
        self._control = paths.control
        self._asked = False
        self._attempt = attempt
        self._claim = SpoolClaim(paths, attempt=attempt)
        self._reader = OutputReader(settings, from_step=from_step)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._spool: SpoolWriter | None = None
        self._waiting: list[dict[str, Any]] = []
        self._held: deque[tuple[float, list[dict[str, Any]]]] = deque()
        self._has_written = False
        self._source = -1
        self._position = 0

    @property
    def has_trained(self) -> bool:
        """Whether the output has told of a training step."""
        return self._reader.has_trained

    def look(self, *, last: bool = False) -> None:
        """Read what is new, as far as there is time; ``last`` also takes the line that nobody has ended."""
        try:
            self._follow(END_S if last else LOOK_S)
        except OSError as exc:
            log.debug("the output cannot be read: %s", exc)
        if not self.is_reading:
            return
        if last:
            self._hold(self._reader.close())
        self._release(is_last=last)
        if self._waiting:
            self._write()

    def _hold(self, events: list[dict[str, Any]]) -> None:
        if events:
            self._held.append((time.monotonic(), events))

    def _release(self, *, is_last: bool) -> None:
        """Let go of what has waited long enough for the script to say it itself."""
        if not self._held:
            return
        hold_s = 0.0 if self._has_written else HOLD_FIRST_S
        if self._claim.is_announced():
            hold_s = HOLD_S
        ripe_at = time.monotonic() - hold_s
        while self._held and (is_last or self._held[0][0] <= ripe_at):
            self._waiting += self._held.popleft()[1]
            self._has_written = True

    def finish(self, step: int, *, reason: str, last: Mapping[str, float]) -> None:
        """Say for the script that it has ended well; its processes must be gone.

        Args:
            step: the newest training step.
            reason: ``completed`` or ``stopped``.
            last: the newest value per series.
        """
        values = {name: encode_number(value) for name, value in last.items()}
        fields = {"step": step, "reason": reason, "metrics": {"last": values, "best": {}}}
        self._waiting = [{"type": EventType.FINISHED.value, **fields}]
        self._write(is_over=True)

    def ask_to_stop(self) -> None:
        """Leave the wish where a script looks that a signal to its starter does not reach."""
        if not self._asked:
            self._asked = True
            with contextlib.suppress(OSError):
                self._control.mkdir(exist_ok=True)
                (self._control / Command.STOP.value).touch()

    def close(self) -> None:
        """Let go of the files."""
        if self._source >= 0:
            os.close(self._source)
            self._source = -1
        if self._spool is not None:
            self._spool.close()
            self._spool = None
        self._claim.close()

    def _follow(self, most_s: float) -> None:
        if self._source < 0:
            try:
                self._source = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return
        size = os.fstat(self._source).st_size
        if size > self._position:
            self.heard_at = time.monotonic()
        if not self.is_reading:
            self._position = size
            return
        deadline = time.monotonic() + most_s
        while self._position < size and time.monotonic() < deadline:
            chunk = os.pread(self._source, min(READ_BYTES, size - self._position), self._position)
            if not chunk:
                break
            self._position += len(chunk)
            self._hold(self._reader.feed(self._decoder.decode(chunk), time.monotonic()))
        if size - self._position > MOST_BEHIND_BYTES:
            self._skip(size)

    def _skip(self, size: int) -> None:
        """Go on near the end: what a flood says now matters more than what it said before."""
        target = size - READ_BYTES
        if not self.skipped_bytes:
            text = "The script prints more than can be read; some of its metrics may be missing. Print less."
            alert = {"type": EventType.ALERT.value, "level": "warning", "title": "Output was left unread",
                     "text": text, "step": self._reader.step}  # fmt: skip
            self._hold([alert])
        self.skipped_bytes += target - self._position
        self._position = target
        self._hold(self._reader.feed("\n", time.monotonic()))

    def _write(self, *, is_over: bool = False) -> None:
        """Append what was read, unless the script reports itself; it waits while the disk refuses.

        ``is_over`` says that no script is left that could write.
        """
        try:
            is_ours = self._claim.take()
        except OSError:
            return
        try:
            if not is_ours or (self._claim.is_script() and not is_over):
                self._leave_to_script()
                return
            if self._spool is None:
                self._spool = SpoolWriter(self._folder)
            while self._waiting and self._spool.append(_line(self._waiting[0], self._attempt)):
                self._waiting.pop(0)
        finally:
            if is_ours:
                self._claim.give_back()

    def _leave_to_script(self) -> None:
        log.info("the script reports itself; its output is not read any more")
        self.is_reading = False
        self._waiting = []
        self._held.clear()
        if self._spool is not None:
            self._spool.close()
            self._spool = None


def output_watch(paths: RunPaths, spec: RunSpec, *, attempt: int, from_step: int) -> OutputWatch | None:
    """What reads the output of this attempt; None for a recipe of ours, which reports itself."""
    if spec.recipe != RECIPE:
        return None
    try:
        settings = OutputSettings.load(paths)
    except ProtocolError as exc:
        log.error("%s; the output is read as usual", exc)
        settings = OutputSettings()
    return OutputWatch(paths, attempt=attempt, from_step=from_step, settings=settings)


def _line(event: dict[str, Any], attempt: int) -> bytes:
    return orjson.dumps({"type": event["type"], "attempt": attempt, **event})[1:]
