"""What the tests of runs, queue and adoption share: a real store, and a launcher that only notes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.config import Settings
from app.launchers.launcher import LaunchError
from app.services.queue import RunQueue
from app.services.runs import Runs
from app.store.engine import Store
from tests.app.fresh_database import fresh_database
from trainer.protocol.events import Command
from trainer.protocol.run_folder import RunPaths


@dataclass
class NotingLauncher:
    """Starts nothing; remembers what it was asked."""

    launched: list[str] = field(default_factory=list)
    drained: list[str] = field(default_factory=list)
    signalled: list[tuple[str, int]] = field(default_factory=list)
    alive: dict[str, int] = field(default_factory=dict)
    refusal: str | None = None
    has_launched: threading.Event = field(default_factory=threading.Event)

    def launch(self, paths: RunPaths) -> int:
        if self.refusal is not None:
            raise LaunchError(self.refusal)
        self.launched.append(paths.root.name)
        self.has_launched.set()
        return 4_000_000

    def drain(self, paths: RunPaths) -> int:
        self.drained.append(paths.root.name)
        return 4_000_001

    def supervisor_pid(self, paths: RunPaths) -> int | None:
        return self.alive.get(paths.root.name)

    def lock_holder(self, paths: RunPaths) -> int | None:
        return self.alive.get(paths.root.name)

    def is_running(self, paths: RunPaths) -> bool | None:
        return None

    def signal(self, paths: RunPaths, signal_number: int) -> bool:
        if paths.root.name not in self.alive:
            return False
        self.signalled.append((paths.root.name, signal_number))
        return True

    def on_exit(self, callback: Callable[[str], None]) -> None:
        pass


@dataclass
class NotingFeed:
    """Remembers what watchers would have been told."""

    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def run_changed(self, run_id: str) -> None:
        self.changed.append(run_id)

    def deleted(self, run_id: str) -> None:
        self.gone.append(run_id)


@dataclass
class Rig:
    """The services of one temporary instance."""

    settings: Settings
    store: Store
    launcher: NotingLauncher = field(default_factory=NotingLauncher)
    live: NotingFeed = field(default_factory=NotingFeed)
    linked: set[str] = field(default_factory=set)
    sent: list[tuple[str, Command]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.queue = RunQueue(self.store, settings=self.settings, launcher=self.launcher, live=self.live)
        self.runs = Runs(
            self.store,
            settings=self.settings,
            live=self.live,
            launcher=self.launcher,
            send_command=self._send,
            wake_queue=lambda: None,
        )

    def _send(self, run_id: str, command: Command) -> bool:
        if run_id in self.linked:
            self.sent.append((run_id, command))
        return run_id in self.linked

    def paths(self, run_id: str) -> RunPaths:
        return RunPaths(self.settings.runs_dir / run_id)


def open_rig(folder: Path, *, max_runs: int = 1) -> Rig:
    """A rig on a fresh or existing instance in ``folder``; close its store afterwards."""
    settings = Settings(
        instance=folder,
        database_url=f"sqlite:///{folder / 'signalbox.db'}",
        dataset_roots=(folder / "datasets", folder / "inbox"),
        max_runs=max_runs,
    )
    for root in settings.dataset_roots:
        root.mkdir(parents=True, exist_ok=True)
    store = Store(fresh_database(folder / "signalbox.db"))
    store.start()
    return Rig(settings, store)


def write_pairs(path: Path) -> Path:
    """A small dataset file."""
    path.write_text(json.dumps({"query": "a", "document": "b"}) + "\n")
    return path
