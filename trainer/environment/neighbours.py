"""How much of the machine others are using just now."""

from __future__ import annotations

import os
import time
from typing import Final

import psutil

LOOK_S: Final = 0.3
_NOT_BUSY: Final = ("idle", "iowait", "guest", "guest_nice")  # Linux counts guests as users already


def busy_cores(look_s: float = LOOK_S) -> float:
    """Cores that other processes kept busy while this one looked for ``look_s`` seconds, at least 0.

    Time that a hypervisor gave to somebody else counts as theirs: it is missing here all the same.
    """
    before, began = _busy_s(), time.monotonic()
    time.sleep(look_s)
    return max(0.0, (_busy_s() - before) / (time.monotonic() - began))


def _busy_s() -> float:
    """CPU seconds of all processes but this one since some point in the past."""
    times, own = psutil.cpu_times()._asdict(), os.times()
    busy_s = sum(seconds for kind, seconds in times.items() if kind not in _NOT_BUSY)
    return float(busy_s - own.user - own.system)
