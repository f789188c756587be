"""Sleeping until something happens: a time, a word from another thread, a signal, the end of a child.

A signal's handler may not take a lock that the sleeper holds, so nothing here has
one: everything that wakes writes a byte to a socket the sleeper waits for.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
from types import FrameType, TracebackType
from typing import Final

_DRAIN_BYTES: Final = 4096


class Waker:
    """Entered and slept on by the main thread; :meth:`wake` may be called from anywhere."""

    def __init__(self) -> None:
        self._receiver, self._sender = socket.socketpair()
        self._receiver.setblocking(False)
        self._sender.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._receiver, select.POLLIN)
        self._other_fd = -1
        self._other_handler: object = None

    def __enter__(self) -> Waker:
        """Let every signal wake from here on, that of an ended child too."""
        self._other_fd = signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        self._other_handler = signal.signal(signal.SIGCHLD, _take_note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the signals as they were."""
        signal.set_wakeup_fd(self._other_fd, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._other_handler or signal.SIG_DFL)  # type: ignore[arg-type]
        self._receiver.close()
        self._sender.close()

    def wake(self) -> None:
        """End the present sleep, or the next one where nobody sleeps."""
        with contextlib.suppress(OSError):  # full: it wakes anyway; closed: nobody sleeps any more
            self._sender.send(b"\0")

    def sleep(self, seconds: float) -> None:
        """Sleep until ``seconds`` have passed or something happens."""
        if self._poll.poll(max(0.0, seconds) * 1e3):
            with contextlib.suppress(BlockingIOError):
                self._receiver.recv(_DRAIN_BYTES)


def _take_note(number: int, frame: FrameType | None) -> None:
    """A signal without a handler in Python wakes nobody."""
