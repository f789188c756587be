"""The original system's snapshot files: their names, their fields, and how they lie in the database.

A tree is ``DATASET/step_NNNNNN.json``, one JSON object per file::

    {"snapshot_id", "training_step", "timestamp", "model_version",
     "examples": [{"example_id", "step", "input", "expected_output", "model_output",
                   "loss", "exact_match", "output_length", "similarity"}],
     "summary": {"avg_loss", "accuracy", "total_examples", "correct", "incorrect"}}

Their loss is a proxy, ``5 * (1 - Levenshtein similarity)``, not the loss of a task, so what is
imported has a task of its own.
"""

from __future__ import annotations

import re
from typing import Final

RECIPE: Final = "imported"  # of the runs that hold them; no recipe of this name can be trained
TAG: Final = "imported"

STEP_FILE: Final = re.compile(r"step_([0-9]{1,16})\.json")
HEADER: Final = ("snapshot_id", "training_step", "timestamp", "model_version", "examples", "summary")
EXAMPLE: Final = (
    "example_id", "step", "input", "expected_output", "model_output",
    "loss", "exact_match", "output_length", "similarity",
)  # fmt: skip
SUMMARY: Final = ("avg_loss", "accuracy", "total_examples", "correct", "incorrect")
ANSWERED: Final = (
    "loss",
    "exact_match",
    "output_length",
    "similarity",
)  # kept as written, beside the columns


def step_file_name(step: int) -> str:
    """The name of the file with the snapshot at ``step``."""
    return f"step_{step:06d}.json"


def printable(text: str, *, limit: int = 80) -> str:
    """``text`` for one line of a terminal: what does not print is written as an escape, the rest is cut."""
    shown = "".join(
        one if one.isprintable() else one.encode("unicode_escape", "backslashreplace").decode()
        for one in text[: limit + 1]
    )
    return shown if len(shown) <= limit else f"{shown[:limit]}…"
