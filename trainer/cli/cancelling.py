"""Commands that clean up when they are told to end."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Final

_ENDINGS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Cancelled(BaseException):
    """Somebody wants the end of it; no handler of failures may take it for one."""


def cancel_on_signals() -> threading.Event:
    """From now on SIGTERM, SIGINT and SIGHUP raise :class:`Cancelled` in the main thread, once.

    Returns:
        What is set at the same moment, for threads to see.
    """
    is_cancelled = threading.Event()

    def cancel(number: int, frame: FrameType | None) -> None:
        for again in _ENDINGS:
            signal.signal(again, signal.SIG_IGN)  # the cleaning up is not to be interrupted
        is_cancelled.set()
        raise Cancelled

    for number in _ENDINGS:
        signal.signal(number, cancel)
    return is_cancelled
