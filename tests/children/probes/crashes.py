"""Dies of a segmentation fault."""

from __future__ import annotations

import ctypes

from trainer.environment.doctor.check import Check
from trainer.environment.doctor.surroundings import Surroundings


def look(surroundings: Surroundings) -> list[Check]:
    """Dies of a segmentation fault."""
    ctypes.string_at(0)
    return []
