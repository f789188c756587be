"""How far a headless run is: a bar on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import shutil
import time
from typing import Final, TextIO

from trainer.supervisor.tally import Tally

_REDRAW_S: Final = 0.1
_LINE_EVERY_S: Final = 15.0
_BAR_WIDTH: Final = 24
_SHOWN_FIRST: Final = ("train/loss", "eval/recall@10", "eval/loss")


class ProgressBar:
    """Draws a tally on ``stream`` whenever it is shown one, as often as an eye can follow."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._drawn_at = -_LINE_EVERY_S
        self._num_alerts = 0
        self._line_open = False

    def show(self, tally: Tally) -> None:
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


def _bar(tally: Tally) -> str:
    if not tally.total_steps:
        return "[" + " " * _BAR_WIDTH + "]"
    filled = round(_BAR_WIDTH * min(1.0, tally.step / tally.total_steps))
    return "[" + "#" * filled + " " * (_BAR_WIDTH - filled) + "]"


def _facts(tally: Tally) -> str:
    total = f"/{tally.total_steps}" if tally.total_steps else ""
    phase = f"{tally.phase or 'starting'}{f': {tally.detail}' if tally.detail else ''}"
    shown = [f"{name} {tally.latest[name]:.4g}" for name in _SHOWN_FIRST if name in tally.latest]
    return "  ".join([f"step {tally.step}{total}", *shown, phase])
