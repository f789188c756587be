"""Whether MPS can be used, and computes what the CPU computes; recurrent towers often go wrong there."""

from __future__ import annotations

import importlib
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.gradients import compare
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Gradients on MPS"


def look(surroundings: Surroundings) -> list[Check]:
    """Nothing is loaded on other systems than macOS."""
    if surroundings.platform != "darwin":
        return [Check("gradients_mps", TITLE, Verdict.OK, "MPS exists on macOS only.")]
    torch = importlib.import_module("torch")
    if not torch.backends.mps.is_available():
        found = f"torch {torch.__version__} cannot use MPS here: runs train on the CPU."
        remedy = "MPS needs Apple silicon, macOS 14 or later, and an arm64 Python."
        return [Check("gradients_mps", TITLE, Verdict.NOTE, found, remedy)]
    return [compare("mps")]
