"""How a training process reports: one call, one line in the spool, nothing to wait for.

No socket and no network: a call costs a few microseconds, survives the death
of any process from the moment it returns, and can neither fail nor block the
training. What cannot be written (a full disk) is counted and shown in the
heartbeat.

Steps count optimizer updates. Values are numbers; NaN and infinities travel
as words, anything that is not a number becomes NaN.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from typing import Any, Final, Literal

from trainer.protocol.events import EventType, Phase, Stream, encode_number
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.narration import narrate
from trainer.telemetry.plain_json import dumps
from trainer.telemetry.pulse import Pulse
from trainer.telemetry.spool_writer import SpoolWriter

PROGRESS_EVERY_S: Final = 0.1
PHASE_DETAIL_EVERY_S: Final = 0.25


class Reporter:
    """Reports one attempt of one run; every method may be called from any thread and never raises."""

    def __init__(self, paths: RunPaths, *, attempt: int, narrates: bool = True) -> None:
        """``narrates`` says the events people want to read in the process's own log too."""
        self.attempt = attempt
        self._narrates = narrates
        self._spool = SpoolWriter(paths.spool(Stream.TRAINER))
        self._pulse = Pulse(paths.heartbeat, attempt=attempt, lost_events=lambda: self._spool.lost_events)
        self._lost_told = 0
        self._telling_loss = threading.Lock()
        self._progress_said_at = -math.inf
        self._phase_said_at = -math.inf
        self._pulse.start()

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Report numbers measured at ``step``; the hot path."""
        for value in values.values():
            if type(value) is not float or value - value != 0.0:  # NaN and infinities fail the second test
                values = _numbers(values)
                break
        try:
            body = dumps(values)
            line = b'"type":"metrics","attempt":%d,"step":%d,"values":%b}' % (self.attempt, step, body)
        except (TypeError, ValueError):  # a name or a step no JSON can hold
            self._spool.lost_events += 1
            return
        self._pulse.step = step
        self._pulse.progress_at = time.monotonic()
        if self._spool.append(line) and self._spool.lost_events != self._lost_told:
            self._tell_loss()

    def progress(
        self, step: int, *, total_steps: int | None, epoch: float | None, num_epochs: int | None
    ) -> None:
        """Say how far the run is; written at most ten times a second, and at the first and last step."""
        self.advance(step)
        now = time.monotonic()
        if now - self._progress_said_at < PROGRESS_EVERY_S and step > 1 and step != total_steps:
            return
        self._progress_said_at = now
        self._say(
            EventType.PROGRESS,
            {"step": step, "total_steps": total_steps, "epoch": epoch, "num_epochs": num_epochs},
        )

    def advance(self, step: int | None = None) -> None:
        """Tell the watch that work advances although there is nothing to report."""
        self._pulse.progress_at = time.monotonic()
        if step is not None:
            self._pulse.step = step

    def phase(
        self, phase: Phase, *, step: int, detail: str | None = None, fraction: float | None = None
    ) -> None:
        """Say what the trainer is doing now.

        With a ``fraction`` (0..1 of the phase done) calls of the same phase
        are written at most four times a second, so it may be called in a loop.
        """
        now = time.monotonic()
        same = self._pulse.phase == phase.value and now - self._phase_said_at < PHASE_DETAIL_EVERY_S
        self._pulse.phase = phase.value
        self.advance(step)
        if same and fraction is not None and 0.0 < fraction < 1.0:
            return
        self._phase_said_at = now
        body: dict[str, Any] = {"name": phase.value, "step": step}
        if detail is not None:
            body["detail"] = detail
        if fraction is not None:
            body["fraction"] = fraction
        self._say(EventType.PHASE, body)

    def snapshot(self, step: int, file: str, summary: Mapping[str, float], cost_s: float) -> None:
        """Announce a snapshot; ``file`` is its name in the run's snapshot folder."""
        self._say(
            EventType.SNAPSHOT, {"step": step, "file": file, "summary": dict(summary), "cost_s": cost_s}
        )

    def snapshot_skipped(self, step: int, reason: str) -> None:
        """Say that the snapshot due at ``step`` was left out, and why."""
        self._say(EventType.SNAPSHOT_SKIPPED, {"step": step, "reason": reason})

    def checkpoint(
        self,
        step: int,
        *,
        file: str,
        num_bytes: int,
        sha256: str,
        metrics: Mapping[str, float],
        best: bool,
        reason: str,
    ) -> None:
        """Announce a checkpoint that is whole and synced; ``file`` is its name in the checkpoint folder."""
        self._say(
            EventType.CHECKPOINT,
            {
                "step": step,
                "file": file,
                "bytes": num_bytes,
                "sha256": sha256,
                "metrics": dict(metrics),
                "best": best,
                "reason": reason,
            },
        )

    def alert(
        self, level: Literal["info", "warning", "error"], title: str, text: str, step: int | None = None
    ) -> None:
        """Tell people something, with the remedy in ``text``."""
        self._say(EventType.ALERT, {"level": level, "title": title, "text": text, "step": step})

    def device(self, name: str) -> None:
        """Say where the training happens, in words."""
        self._say(EventType.DEVICE, {"name": name[:64]})

    def dataset(self, name: str, *, content_hash: str, counts: Mapping[str, int]) -> None:
        """Say which examples are used: a hash of their content and how many there are of each kind."""
        self._say(EventType.DATASET, {"name": name, "content_hash": content_hash, "counts": dict(counts)})

    def finished(
        self,
        step: int,
        *,
        reason: Literal["completed", "stopped", "early_stop"],
        metrics: Mapping[str, Mapping[str, float]],
    ) -> None:
        """Say that the training has ended as it should; ``metrics`` is ``{"last": {...}, "best": {...}}``."""
        self._say(EventType.FINISHED, {"step": step, "reason": reason, "metrics": metrics})

    def close(self) -> None:
        """Write the last heartbeat and close the spool."""
        self._pulse.stop()
        self._spool.close()

    def _say(self, event_type: EventType, body: Mapping[str, Any]) -> None:
        self._pulse.progress_at = time.monotonic()
        if self._narrates:
            narrate(event_type, body)
        fields = dumps({"type": event_type.value, "attempt": self.attempt, **_plain(body)})
        if self._spool.append(fields[1:]) and self._spool.lost_events != self._lost_told:
            self._tell_loss()

    def _tell_loss(self) -> None:
        """After events were lost, say so as soon as the spool takes lines again."""
        if not self._telling_loss.acquire(blocking=False):
            return
        try:
            lost = self._spool.lost_events
            body = {
                "type": EventType.ALERT.value,
                "attempt": self.attempt,
                "level": "warning",
                "title": "Reports were lost",
                "text": f"{lost - self._lost_told} events could not be written to the run folder."
                " Is the disk full? The training itself goes on.",
                "step": self._pulse.step,
            }
            if self._spool.append(dumps(body)[1:]):
                self._lost_told = lost
            else:
                self._spool.lost_events = lost  # the notice itself is not a lost event
        finally:
            self._telling_loss.release()


def _number(value: object) -> float | str:
    try:
        return encode_number(float(value))  # type: ignore[arg-type]  # whatever knows how to be a float
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return "NaN"


def _text(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    return {_text(name): _number(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    """``value`` in types every JSON reader knows; numbers of other libraries become floats."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    if isinstance(value, Mapping):
        return {_text(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return _number(value)
