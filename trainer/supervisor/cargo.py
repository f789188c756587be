"""What a run has to tell its dashboard, and how far the dashboard has it.

The spool is the truth: nothing is remembered here that the spool and the
dashboard's ``have`` cannot restore.  A few batches travel at once, so the next
is being packed while the last is being committed.
"""

from __future__ import annotations

import base64
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.protocol.batches import Batch
from trainer.protocol.events import EventType, Stream
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.columns import NOTICE_TITLE, notice
from trainer.supervisor.console import console_path
from trainer.supervisor.link import Link, LinkDown, Ticket
from trainer.supervisor.spool_reader import SpoolReader

log = logging.getLogger(__name__)
NUM_IN_FLIGHT: Final = 4
OUTPUT_BYTES: Final = 64 * 1024
_BUSY_PAUSE_S: Final = 0.3


@dataclass
class _Sent:
    batch: Batch
    ticket: Ticket


class StreamCargo:
    """One stream on its way, in order; a gap or a refusal leads back to what the dashboard has."""

    def __init__(self, paths: RunPaths, *, run: str, stream: Stream, have: int) -> None:
        self._reader = SpoolReader(paths.spool(stream), run=run, stream=stream, have=have)
        self._packed: deque[Batch] = deque()
        self._in_flight: deque[_Sent] = deque()
        self._held: Batch | None = None  # tells an end, and waits for what must arrive before it
        self._max_events: int | None = None  # below the usual only while looking for a refused event
        self.acknowledged = have

    @property
    def drained(self) -> bool:
        """Whether everything there was at the last look is acknowledged."""
        return not self._packed and not self._in_flight

    def backlog_bytes(self) -> int:
        """Spool bytes that nobody has read yet, as far as two segments tell."""
        return self._reader.backlog_bytes()

    def ship(self, link: Link, *, hold_end: Callable[[int | None], bool] = lambda seq: False) -> bool:
        """Send what fits in flight, then settle the oldest; whether anything moved.

        Args:
            link: where to.
            hold_end: asked whether to keep back a batch that tells the end of an attempt; it is given the
                last event of the trainer that must arrive before, None where the batch does not say.
        Raises:
            LinkDown: the link broke.
        """
        while len(self._in_flight) < NUM_IN_FLIGHT and (batch := self._next(hold_end=hold_end)) is not None:
            self._in_flight.append(_Sent(batch, link.send("batch", batch.to_wire())))
        if not self._in_flight:
            return False
        self._settle(self._in_flight.popleft())
        return True

    def close(self) -> None:
        """Let go of the spool."""
        self._reader.close()

    def _next(self, *, hold_end: Callable[[int | None], bool]) -> Batch | None:
        if not self._packed:
            self._packed.extend(self._reader.read(max_events=self._max_events))
        if not self._packed:
            return None
        ends = _ends(self._packed[0])
        # held at least once: the trainer's last words may have come after the caller looked for them
        if ends and (self._held is not self._packed[0] or any(hold_end(seq) for seq in ends)):
            self._held = self._packed[0]
            return None
        return self._packed.popleft()

    def _settle(self, sent: _Sent) -> None:
        answer = sent.ticket.wait()
        error = _error(answer)
        have = answer.get("have", self.acknowledged if error else None)
        if not isinstance(have, int):
            raise LinkDown(f"the acknowledgement of a batch lacks 'have': {answer!r}")
        self.acknowledged = have
        if error is None and have >= sent.batch.last:
            self._max_events = None if self._max_events is None else min(self._max_events * 2, 1 << 20)
            return
        self._go_back(have)
        if error is None:
            return
        if error.get("code") == "invalid":
            self._narrow(sent.batch, str(error.get("message")))
        elif error.get("code") == "busy":
            time.sleep(_BUSY_PAUSE_S)

    def _go_back(self, have: int) -> None:
        """Forget what is under way and continue behind what the dashboard has."""
        self._in_flight.clear()
        self._packed.clear()
        self._reader.seek(have)

    def _narrow(self, batch: Batch, message: str) -> None:
        """A batch was refused for good: find the one event, and let a notice take its place."""
        count = batch.last - batch.first + 1
        if is_notice(batch):
            raise LinkDown(f"the dashboard refuses whatever it is sent: {message}")
        if count > 1:
            self._max_events = max(1, count // 2)
            return
        log.error("event %d of stream %s was refused: %s", batch.first, batch.stream, message)
        attempt = batch.blocks[0].attempt if batch.blocks else batch.events[0].get("attempt", 1)
        t = batch.blocks[0].times[0] if batch.blocks else batch.events[0]["t"]
        text = f"the dashboard refused event {batch.first}: {message}"
        stand_in = notice(batch.first, t, attempt if isinstance(attempt, int) else 1, text)
        self._packed.append(Batch(batch.run, batch.stream, batch.first, batch.last, [], [stand_in]))
        self._reader.seek(batch.last)


class OutputCargo:
    """The shown output of every attempt, byte for byte."""

    def __init__(self, paths: RunPaths, *, run: str, have: Mapping[str, Any]) -> None:
        self._paths = paths
        self._run = run
        self._have = {int(attempt): int(num_bytes) for attempt, num_bytes in have.items()}
        self._refused: set[int] = set()
        self._folder = paths.root / "attempts"
        self._consoles_of: dict[int, Path] = {}
        self.drained = False

    def ship(self, link: Link) -> bool:
        """Send one piece of the first attempt that has something; whether there was any.

        Raises:
            LinkDown: the link broke.
        """
        for attempt, path in self._consoles():
            offset = self._have.get(attempt, 0)
            if attempt not in self._refused and (text := _piece(path, offset)):
                self.drained = False
                body = {"run": self._run, "attempt": attempt, "offset": offset}
                answer = link.send("output", body | {"text": base64.b64encode(text).decode()}).wait()
                self._settle(attempt, answer)
                return True
        self.drained = True
        return False

    def _consoles(self) -> list[tuple[int, Path]]:
        """Attempts and their shown output, in order."""
        try:
            names = [folder.name for folder in self._folder.iterdir()]
        except FileNotFoundError:
            return []
        for attempt in {int(name) for name in names if name.isdigit()} - self._consoles_of.keys():
            self._consoles_of[attempt] = console_path(self._paths, attempt)
        return sorted(self._consoles_of.items())

    def _settle(self, attempt: int, answer: Mapping[str, Any]) -> None:
        have, error = answer.get("have"), _error(answer)
        if isinstance(have, int):
            self._have[attempt] = have
        elif error is not None and error.get("code") == "invalid":
            log.error("output of attempt %d was refused: %s", attempt, error.get("message"))
            self._refused.add(attempt)
        else:
            raise LinkDown(f"output was not taken: {answer!r}")


def is_notice(batch: Batch) -> bool:
    """Whether the batch is but the stand-in for an event that was refused."""
    return not batch.blocks and len(batch.events) == 1 and batch.events[0].get("title") == NOTICE_TITLE


def _error(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    error = answer.get("error")
    return error if isinstance(error, Mapping) else None


def _ends(batch: Batch) -> list[int | None]:
    """For each end of an attempt that the batch tells, the last event of the trainer before it."""
    ends = [
        event for event in batch.events if event["type"] == EventType.ATTEMPT and event.get("what") == "ended"
    ]
    seqs = [event.get("trainer_seq") for event in ends]
    return [seq if isinstance(seq, int) else None for seq in seqs]


def _piece(path: Path, offset: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(descriptor, OUTPUT_BYTES, offset)
    finally:
        os.close(descriptor)
