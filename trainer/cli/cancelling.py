"""Commands that clean up when they are told to end."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Final

_ENDINGS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Cancelled(BaseException):
    """Somebody wants the end of it; no handler of failures may take it for one."""


def cancel_on_signals() -> None:
    """From now on SIGTERM, SIGINT and SIGHUP raise :class:`Cancelled` in the main thread, once."""
    for number in _ENDINGS:
        signal.signal(number, _cancel)


def _cancel(number: int, frame: FrameType | None) -> None:
    for again in _ENDINGS:
        signal.signal(again, signal.SIG_IGN)  # the cleaning up is not to be interrupted
    raise Cancelled
