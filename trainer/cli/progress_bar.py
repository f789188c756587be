"""How far a headless run is: a bar on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TextIO

_REDRAW_S: Final = 0.1
_LINE_EVERY_S: Final = 15.0
_BAR_WIDTH: Final = 24
_SHOWN_FIRST: Final = ("train/loss", "eval/recall@10", "eval/loss", "eval/macro_f1")


class Progress(Protocol):
    """What is shown of a run; a :class:`trainer.supervisor.tally.Tally` is one."""

    @property
    def begun(self) -> bool:
        """Whether there is something to say yet."""

    @property
    def step(self) -> int:
        """Steps done."""

    @property
    def total_steps(self) -> int | None:
        """Steps there will be; None while nobody knows."""

    @property
    def phase(self) -> str | None:
        """What it is doing, and ``detail`` in words."""

    @property
    def detail(self) -> str | None:
        """What exactly."""

    @property
    def latest(self) -> Mapping[str, float]:
        """The newest value of each series."""

    @property
    def alerts(self) -> Sequence[str]:
        """All so far, in words."""


@dataclass(frozen=True)
class Standing:
    """How far a run is that is trained elsewhere."""

    step: int
    total_steps: int | None
    phase: str | None
    latest: Mapping[str, float]
    detail: str | None = None
    begun: bool = True
    alerts: Sequence[str] = field(default_factory=tuple)


class ProgressBar:
    """Draws a tally on ``stream`` whenever it is shown one, as often as an eye can follow."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._drawn_at = -_LINE_EVERY_S
        self._num_alerts = 0
        self._line_open = False

    def show(self, tally: Progress) -> None:
        """Draw if it is time; alerts are never left out."""
        for alert in tally.alerts[self._num_alerts :]:
            self._write_line(f"! {alert}")
        self._num_alerts = len(tally.alerts)
        now = time.monotonic()
        if now - self._drawn_at < (_REDRAW_S if self._is_terminal else _LINE_EVERY_S):
            return
        self._drawn_at = now
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{_bar(tally)} {_facts(tally)}"[: width + 4])
            self._stream.flush()
            self._line_open = True
        elif tally.begun:
            self._write_line(_facts(tally))

    def note(self, text: str) -> None:
        """A line that stays, above the bar; the alerts of the attempt to come are counted anew."""
        self._write_line(f"! {text}")
        self._num_alerts = 0

    def close(self) -> None:
        """Leave the cursor on a line of its own."""
        if self._line_open:
            self._stream.write("\n")
            self._line_open = False

    def _write_line(self, text: str) -> None:
        lead = "\r\x1b[K" if self._line_open else ""
        self._stream.write(f"{lead}{text}\n")
        self._stream.flush()
        self._line_open = False


def _bar(tally: Progress) -> str:
    if not tally.total_steps:
        return "[" + " " * _BAR_WIDTH + "]"
    filled = round(_BAR_WIDTH * min(1.0, tally.step / tally.total_steps))
    return "[" + "#" * filled + " " * (_BAR_WIDTH - filled) + "]"


def _facts(tally: Progress) -> str:
    total = f"/{tally.total_steps}" if tally.total_steps else ""
    phase = f"{tally.phase or 'starting'}{f': {tally.detail}' if tally.detail else ''}"
    shown = [f"{name} {tally.latest[name]:.4g}" for name in _SHOWN_FIRST if name in tally.latest]
    return "  ".join([f"step {tally.step}{total}", *shown, phase])
