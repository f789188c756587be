"""Where the ranks of an attempt leave their traces, and what is known of the one that fell first.

A rank is one of several processes that train one model together. Everything
of rank 1 of attempt 1 lies in ``attempts/001/ranks/1``.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object, write_atomic
from trainer.protocol.run_folder import RunPaths

MOST_RANKS: Final = 64
NPROC: Final = "nproc"  # the parameter that asks for ranks
LOST_PEER: Final = 69  # exit code of a rank that ends because another one is gone


@dataclass(frozen=True)
class RankPaths:
    """The files of one rank in one attempt."""

    root: Path

    @property
    def output(self) -> Path:
        """Its standard output and error, as written."""
        return self.root / "output.log"

    @property
    def stacks(self) -> Path:
        """Its stacks, at every SIGUSR1."""
        return self.root / "stacks.txt"

    @property
    def heartbeat(self) -> Path:
        return self.root / "heartbeat.json"

    @property
    def exception(self) -> Path:
        """``{"t"}`` of the exception that ended it; absent when it was killed, or lost another rank."""
        return self.root / "exception.json"

    @property
    def is_ready(self) -> Path:
        """There as soon as it has loaded everything and waits for the others."""
        return self.root / "ready"

    @property
    def has_called(self) -> Path:
        """Of rank 0: there as soon as all are ready."""
        return self.root / "called"


def ranks_folder(paths: RunPaths, attempt: int) -> Path:
    """The folder of all ranks; it exists only where there are several."""
    return paths.attempt(attempt) / "ranks"


def rank_paths(paths: RunPaths, attempt: int, rank: int) -> RankPaths:
    """Where rank ``rank`` leaves its traces."""
    return RankPaths(ranks_folder(paths, attempt) / str(rank))


@dataclass(frozen=True)
class RankFall:
    """The rank that fell first, of ``count``; exactly one of ``code`` and ``signal`` is set."""

    rank: int
    count: int
    pid: int
    code: int | None
    signal: int | None

    @property
    def words(self) -> str:
        """How it ended, e.g. ``was killed by SIGKILL (signal 9)``."""
        if self.signal is None:
            return f"ended with exit code {self.code}"
        verb = "killed" if self.signal in (signal.SIGKILL, signal.SIGTERM) else "ended"
        try:
            name = signal.Signals(self.signal).name
        except ValueError:
            return f"was {verb} by signal {self.signal}"
        return f"was {verb} by {name} (signal {self.signal})"

    def save(self, paths: RunPaths, attempt: int) -> None:
        """Leave it for the supervisor.

        Raises:
            OSError: the disk refuses.
        """
        write_atomic(_fall(paths, attempt), json.dumps(asdict(self)).encode())

    @classmethod
    def load(cls, paths: RunPaths, attempt: int) -> RankFall | None:
        """Who fell first in ``attempt``; None where nobody did, or nobody could tell."""
        if not _fall(paths, attempt).exists():
            return None
        try:
            return cls(**read_object(_fall(paths, attempt)))
        except (ProtocolError, TypeError):
            return None


def _fall(paths: RunPaths, attempt: int) -> Path:
    return ranks_folder(paths, attempt) / "fall.json"


def nproc_of(params: Mapping[str, Any]) -> int:
    """How many processes train a run with these parameters."""
    asked = params.get(NPROC, 1)
    return asked if isinstance(asked, int) and asked > 1 else 1
