"""Where everything of one run lies, and the small files that describe it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import Stream
from trainer.protocol.files import read_object, write_atomic

SPEC_VERSION: Final = 1
SEGMENT_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True)
class RunPaths:
    """Where everything of one run lies. The folder name is the run id."""

    root: Path

    @property
    def spec(self) -> Path:
        return self.root / "spec.json"

    @property
    def token(self) -> Path:
        """The run's bearer token for the uplink, mode 0600; absent on a headless run."""
        return self.root / "token"

    @property
    def uplink(self) -> Path:
        """``{"url": …}`` of the dashboard, rewritten when it moves; read at every reconnect."""
        return self.root / "uplink.json"

    @property
    def lock(self) -> Path:
        """Held with ``fcntl.lockf`` by the supervisor for as long as it lives."""
        return self.root / "supervisor.lock"

    @property
    def supervisor(self) -> Path:
        """``{"pid", "create_time", "started_at"}`` of the supervisor holding the lock."""
        return self.root / "supervisor.json"

    @property
    def supervisor_log(self) -> Path:
        return self.root / "supervisor.log"

    @property
    def exit(self) -> Path:
        """The run's end, an :class:`ExitRecord`; written once, atomically and synced."""
        return self.root / "exit.json"

    @property
    def heartbeat(self) -> Path:
        return self.root / "heartbeat.json"

    @property
    def control(self) -> Path:
        """One empty file per pending :class:`Command`; the trainer removes what it has obeyed."""
        return self.root / "control"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def snapshots(self) -> Path:
        return self.root / "snapshots"

    @property
    def export(self) -> Path:
        """The trained model in a form that other programs load; written when the training has ended."""
        return self.root / "export"

    def spool(self, stream: Stream) -> Path:
        """Folder of the numbered segments ``000001.jsonl`` of one stream."""
        return self.root / "spool" / stream.value

    def attempt(self, attempt: int) -> Path:
        return self.root / "attempts" / f"{attempt:03d}"

    def output(self, attempt: int) -> Path:
        """Standard output and error of one attempt, as the trainer wrote it."""
        return self.attempt(attempt) / "output.log"

    def stacks(self, attempt: int) -> Path:
        """Where the trainer writes its threads' stacks at SIGUSR1, one dump after the other."""
        return self.attempt(attempt) / "stacks.txt"

    def environment(self, attempt: int) -> Path:
        """``{"command": [...], "variables": [{"name", "value", "reason", "source"}]}``."""
        return self.attempt(attempt) / "environment.json"

    def plan(self, attempt: int) -> Path:
        """What the fallback ladder changes, an ``AttemptPlan``; written before the trainer starts."""
        return self.attempt(attempt) / "plan.json"

    @property
    def next_plan(self) -> Path:
        """The ``AttemptPlan`` of the attempt to come, while the run waits for it."""
        return self.root / "next_plan.json"

    def attempt_exit(self, attempt: int) -> Path:
        """How one attempt ended, an :class:`ExitRecord`, also when the run went on after it."""
        return self.attempt(attempt) / "exit.json"


@dataclass(frozen=True)
class RunSpec:
    """What to train, written once to ``spec.json`` when the run is created.

    ``params`` are complete (defaults filled in) and valid for the recipe.
    ``dataset`` is a built-in name or an absolute path. ``resume`` starts the
    next attempt from the newest verified checkpoint. ``environment`` holds the
    user's own variables, secrets among them: the file is its owner's alone.
    ``columns`` says which column of the file plays which role (role -> column);
    a role that is not named is played by the column of its own name, and one
    that maps to an empty name by none.
    ``script`` is the absolute folder of a registered script, empty for other recipes.
    """

    run_id: str
    name: str
    recipe: str
    dataset: str
    params: dict[str, Any]
    created_at: float
    datasets_dir: str
    profile: str = "auto"
    num_concurrent: int = 1
    stop_grace_s: float = 30.0
    policy: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    script: str = ""
    version: int = SPEC_VERSION

    def save(self, paths: RunPaths) -> None:
        write_atomic(paths.spec, json.dumps(asdict(self), indent=2).encode(), mode=0o600)

    @classmethod
    def load(cls, paths: RunPaths) -> RunSpec:
        """Read ``spec.json``.

        Raises:
            ProtocolError: it is missing, not JSON, or lacks a field.
        """
        fields = read_object(paths.spec)
        try:
            return cls(**fields)
        except TypeError as exc:
            raise ProtocolError(f"{paths.spec}: {exc}") from exc


@dataclass(frozen=True)
class Heartbeat:
    """The trainer's pulse: overwritten every second, never synced, never spooled.

    ``progress_at`` and ``beat_at`` are ``time.monotonic()``, which all
    processes of one machine share until it reboots. ``lost_events`` counts
    reports that could not be written, e.g. because the disk is full.
    """

    pid: int
    attempt: int
    phase: str
    step: int
    progress_at: float
    beat_at: float
    t: float
    lost_events: int = 0

    @classmethod
    def load(cls, path: Path) -> Heartbeat | None:
        """The last complete heartbeat, or None where there is none yet, or no readable one."""
        try:
            beat = cls(**json.loads(path.read_bytes()))
            is_sound = math.isfinite(beat.progress_at + beat.beat_at + beat.t + beat.step + beat.attempt)
        except (OSError, ValueError, TypeError, OverflowError):
            return None
        return beat if is_sound and isinstance(beat.phase, str) else None


@dataclass(frozen=True)
class ExitRecord:
    """How a run ended, in ``exit.json``: the truth after every restart.

    ``state`` is finished, stopped or failed. ``exit_code`` is None when a
    signal ended the trainer; ``exit_signal`` is its number. ``findings`` tell
    why it failed, best first. ``num_launches`` counts those of the supervisor
    that wrote it.
    """

    run_id: str
    attempt: int
    state: str
    reason: str
    exit_code: int | None
    exit_signal: int | None
    stop_requested: bool
    step: int
    started_at: float
    ended_at: float
    rusage: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, dict[str, float | None]] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    num_launches: int = 1

    def save(self, paths: RunPaths) -> None:
        write_atomic(paths.exit, json.dumps(asdict(self), indent=2).encode())

    def save_attempt(self, paths: RunPaths) -> None:
        """Write the record beside the attempt's output: the attempt is over, the run may go on."""
        write_atomic(paths.attempt_exit(self.attempt), json.dumps(asdict(self), indent=2).encode())

    @classmethod
    def load(cls, paths: RunPaths) -> ExitRecord | None:
        """The record, or None while the run has not ended.

        Raises:
            ProtocolError: the file is there but unreadable as a record.
        """
        if not paths.exit.exists():
            return None
        try:
            return cls(**read_object(paths.exit))
        except TypeError as exc:
            raise ProtocolError(f"{paths.exit}: {exc}") from exc


def segments(folder: Path) -> list[Path]:
    """The spool segments of ``folder``, oldest first."""
    return sorted(folder.glob("[0-9][0-9][0-9][0-9][0-9][0-9].jsonl"))
