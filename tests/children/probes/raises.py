"""Prints something, then fails to import what it needs."""

from __future__ import annotations

import importlib
import sys

from trainer.environment.doctor.check import Check
from trainer.environment.doctor.surroundings import Surroundings


def look(surroundings: Surroundings) -> list[Check]:
    """Prints something, then fails to import what it needs."""
    sys.stdout.write("printed by a library\n")
    sys.stdout.flush()
    importlib.import_module("no_such_package")
    return []
