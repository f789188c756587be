"""Waits for ever, and so does its fork; both leave their pids."""

from __future__ import annotations

import os
import time

from trainer.environment.doctor.check import Check
from trainer.environment.doctor.surroundings import Surroundings


def look(surroundings: Surroundings) -> list[Check]:
    """Waits for ever, and so does its fork; both leave their pids."""
    os.fork()
    (surroundings.instance / str(os.getpid())).touch()
    while True:
        time.sleep(60)
