"""The run that somebody wants, as the checks are told of it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Question:
    """Would this run do what is expected of it?

    Attributes:
        recipe: name of a recipe there is.
        declaration: ``module:NAME`` of what it knows of its runs; see ``Recipe.preflight``.
        dataset: a built-in name, or a path.
        params: complete and valid for the recipe.
        datasets_dir: built-in datasets and their caches.
        runs_dir: where the run's folder would lie.
        profile: environment of the trainer.
        num_concurrent: runs that share the machine.
        columns: role -> column of the file, as in ``RunSpec``.
        platform: ``sys.platform`` of the machine that trains.
        root: where ``/proc``, ``/sys`` and ``/dev`` are.
        script: folder of the registered script that would run; empty for other recipes.
    """

    recipe: str
    declaration: str
    dataset: str
    params: dict[str, Any]
    datasets_dir: Path
    runs_dir: Path
    profile: str = "auto"
    num_concurrent: int = 1
    columns: dict[str, str] = field(default_factory=dict)
    platform: str = sys.platform
    root: Path = Path("/")
    script: str = ""

    @property
    def device(self) -> str:
        """The device asked for: ``auto``, ``cpu``, ``cuda`` or ``mps``."""
        return str(self.params.get("device", "auto"))

    def to_text(self) -> str:
        """One line for a command line."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_text(cls, text: str) -> Question:
        """What :meth:`to_text` has written."""
        fields = json.loads(text)
        paths = {name: Path(fields[name]) for name in ("datasets_dir", "runs_dir", "root")}
        return cls(**{**fields, **paths})
