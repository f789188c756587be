"""What an evaluation found in detail: one JSON file per evaluated step, in the run's folder.

Numbers that make curves travel as metrics.  What is read one step at a time,
such as a confusion matrix, is kept here: the trainer writes, others only read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import RunPaths

FOLDER: Final = "evaluations"
MAX_BYTES: Final = 32 * 1024 * 1024
_NAME: Final = re.compile(r"step_(\d{6,18})\.json")


def path_of(paths: RunPaths, step: int) -> Path:
    """Where the details of the evaluation at ``step`` lie."""
    return paths.root / FOLDER / f"step_{step:06d}.json"


def write(paths: RunPaths, step: int, content: Mapping[str, Any]) -> None:
    """Keep the details of ``step``, replacing those of an earlier attempt.

    Raises:
        OSError: there is no room.
    """
    write_atomic(path_of(paths, step), json.dumps(dict(content), allow_nan=False).encode())


def steps(paths: RunPaths) -> list[int]:
    """The steps whose evaluations have details, ascending."""
    folder = paths.root / FOLDER
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return []
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


def load(paths: RunPaths, step: int) -> dict[str, Any] | None:
    """The details of ``step``, or None when there are none, or none that can be read."""
    path = path_of(paths, step)
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def forget_after(paths: RunPaths, step: int) -> None:
    """Remove what an attempt found beyond ``step``, from where the next one goes on."""
    for later in steps(paths):
        if later > step:
            path_of(paths, later).unlink(missing_ok=True)
