"""Waiting for what other processes do: on a condition, never for a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_LOOK_AGAIN_S = 0.05


def wait_for(look: Callable[[], T | None], *, what: str | Callable[[], str], timeout_s: float = 60.0) -> T:
    """Call ``look`` until it answers something true, and return that.

    Args:
        look: cheap, called about twenty times a second.
        what: names what is waited for, or tells it when the time is up.
        timeout_s: generous: the machine may be busy with other tests.
    Raises:
        TimeoutError: names what did not come.
    """
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {timeout_s:g} s still no {what if isinstance(what, str) else what()}")
        pause.wait(_LOOK_AGAIN_S)
