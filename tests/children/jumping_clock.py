"""A wall clock that jumps, for this process: what NTP, a person or a bad battery does to all of them."""

from __future__ import annotations

import itertools
import time

JUMPS_S = (0.0, 3600.0, -7200.0, 1e9, -1e8)


def let_the_clock_jump() -> None:
    """From now on ``time.time()`` is hours or years off, differently at each call; monotonic time stays."""
    real, jumps = time.time, itertools.cycle(JUMPS_S)
    time.time = lambda: real() + next(jumps)
