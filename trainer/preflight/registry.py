"""Every general suspicion, in the order of the report; a recipe's own come after them."""

from __future__ import annotations

from typing import Final

from trainer.preflight import amount, disk, duration, intervals, leak, memory, probes, repetitions, steps
from trainer.preflight.declaration import Suspicion

GENERAL: Final = (
    Suspicion("steps", steps.TITLE, steps.look),
    Suspicion("intervals", intervals.TITLE, intervals.look),
    Suspicion("amount", amount.TITLE, amount.look),
    Suspicion("leak", leak.TITLE, leak.look),
    Suspicion("repetitions", repetitions.TITLE, repetitions.look),
    Suspicion("probes", probes.TITLE, probes.look),
    Suspicion("disk", disk.TITLE, disk.look),
    Suspicion("memory", memory.TITLE, memory.look),
    Suspicion("duration", duration.TITLE, duration.look),
)
MEASURED: Final = ("disk", "memory", "duration")  # told again when a smoke run has measured
