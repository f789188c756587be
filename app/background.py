"""The threads of one application: started in order, ended in the opposite order."""

from __future__ import annotations

import threading
from typing import Protocol


class Part(Protocol):
    """Something with threads of its own."""

    def start(self) -> None:
        """Start them."""

    def close(self) -> None:
        """End them; what was accepted is finished first."""


class Background:
    """All parts that run beside the requests."""

    def __init__(self, *parts: Part) -> None:
        self._parts = parts
        self._started: list[Part] = []
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start every part; does nothing when they run already."""
        with self._lock:
            if self._started:
                return
            for part in self._parts:
                part.start()
                self._started.append(part)

    def close(self) -> None:
        """End every started part, last first; does nothing when none runs."""
        with self._lock:
            while self._started:
                self._started.pop().close()
