"""Ends well without an answer."""

from __future__ import annotations

import os

from trainer.environment.doctor.check import Check
from trainer.environment.doctor.surroundings import Surroundings


def look(surroundings: Surroundings) -> list[Check]:
    """Ends well without an answer."""
    os._exit(0)
