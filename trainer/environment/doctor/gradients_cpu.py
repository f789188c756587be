"""Whether the CPU computes right gradients: the wrong build for a processor may not, or dies of SIGILL."""

from __future__ import annotations

from trainer.environment.doctor.check import Check
from trainer.environment.doctor.gradients import compare
from trainer.environment.doctor.surroundings import Surroundings


def look(surroundings: Surroundings) -> list[Check]:
    """Single precision against double precision."""
    return [compare("cpu")]
