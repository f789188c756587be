"""What a probe must be told because it cannot find it out itself."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Surroundings:
    """Where the product keeps and offers its things.

    Attributes:
        instance: absolute folder of runs, datasets and database.
        host: address the dashboard listens on, or would.
        port: its TCP port.
        platform: ``sys.platform`` of the machine.
        root: where ``/proc``, ``/sys`` and ``/dev`` are.
    """

    instance: Path
    host: str = "127.0.0.1"
    port: int = 8421
    platform: str = sys.platform
    root: Path = Path("/")

    def to_text(self) -> str:
        """One line for a command line."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_text(cls, text: str) -> Surroundings:
        """What :meth:`to_text` has written."""
        fields = json.loads(text)
        return cls(**{**fields, "instance": Path(fields["instance"]), "root": Path(fields["root"])})

    @property
    def runs_dir(self) -> Path:
        """One folder per run."""
        return self.instance / "runs"
