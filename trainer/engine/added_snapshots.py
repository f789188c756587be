"""The probes that people add to a run, asked by its training at the steps of its own.

They are read from the run's folder at the first snapshot, and again at the
first one after their file has changed: what is added to a living run is asked
from then on.  What cannot be read or asked is told once in words and left out;
it is no reason to end a training.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from trainer.engine.snapshot_writer import Announces, SnapshotWriter, dataset_name
from trainer.engine.task import TakesProbes, Task
from trainer.protocol.errors import ProtocolError
from trainer.protocol.probe_files import (
    ADDED_FOLDER,
    AddedProbe,
    ProbeRowError,
    added_name,
    probes_path,
    read_probes,
)
from trainer.protocol.run_folder import RunPaths, RunSpec

_SHOWN: Final = 3  # rows that are told with their reasons
_Version = tuple[int, int, int]


class Hears(Announces, Protocol):
    """Who hears of snapshots, and of what had to be left out."""

    def alert(
        self, level: Literal["info", "warning", "error"], title: str, text: str, step: int | None = None
    ) -> None:
        """Something that people should know."""


class AddedSnapshots:
    """Writes the snapshots of one attempt's added probes, of which there may be none."""

    def __init__(self, task: Task, *, spec: RunSpec, paths: RunPaths, reporter: Hears) -> None:
        self._task, self._spec, self._paths, self._reporter = task, spec, paths, reporter
        self._file = probes_path(paths)
        self._version: _Version | None = None  # of the file, when it was read
        self._writer: SnapshotWriter | None = None
        self._told = ""  # which trouble people know of already
        self._resumed: dict[str, Any] = {}  # of a writer, until it is known whether it asks the same probes

    def are_taken(self, step: int) -> bool:
        """Whether the probes that there are now have been asked at ``step``."""
        is_read = _version_of(self._file) == self._version
        return is_read and (self._writer is None or self._writer.last_step == step)

    def take(self, *, step: int, epoch: float) -> float:
        """Ask those that were not asked at ``step``; returns what it cost in seconds, reading included."""
        started = time.perf_counter()
        try:
            self._read_if_changed(step)
            if self._writer is not None and self._writer.last_step != step:
                self._writer.take(step=step, epoch=epoch)
        except OSError as exc:
            words = f"Their answers at step {step} could not be written: {exc}"
            self._reporter.alert("warning", "The added probes have no snapshot", words, step=step)
        return time.perf_counter() - started

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run must know."""
        writer = self._resumed
        if self._writer is not None:
            writer = {"probe_set": self._writer.probe_set()["hash"], **self._writer.state_dict()}
        return {"told": self._told, "writer": writer}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of :meth:`state_dict`."""
        self._told, self._resumed = state.get("told", ""), state.get("writer", {})

    def _read_if_changed(self, step: int) -> None:
        version = _version_of(self._file)
        if version == self._version:
            return
        self._version, self._writer = version, None
        probes = self._askable(step)
        if not probes or not isinstance(self._task, TakesProbes):
            return
        writer = SnapshotWriter(
            self._task.with_probes(probes),
            spec=self._spec,
            paths=self._paths,
            reporter=self._reporter,
            dataset=added_name(dataset_name(self._spec.dataset)),
            folder=ADDED_FOLDER,
        )
        if writer.probe_set()["hash"] == self._resumed.get("probe_set"):
            writer.load_state_dict(self._resumed)
        self._writer, self._resumed = writer, {}

    def _askable(self, step: int) -> list[AddedProbe]:
        """The probes of the file that this model can be asked; of the others people are told."""
        try:
            probes = read_probes(self._file)
        except ProtocolError as exc:
            self._tell_once(f"None of them is asked until this is put right: {exc}.", step)
            return []
        if not probes:
            return []
        if not isinstance(self._task, TakesProbes):
            self._tell_once("Models of this recipe take no added probes.", step)
            return []
        refused = self._task.refused_probes(probes)
        if refused:
            self._tell_once(_words_for(refused, num_probes=len(probes)), step)
        rows = {error.row for error in refused}
        return [probe for row, probe in enumerate(probes, start=1) if row not in rows]

    def _tell_once(self, words: str, step: int) -> None:
        digest = hashlib.sha256(words.encode(errors="replace")).hexdigest()
        if digest != self._told:
            self._told = digest
            self._reporter.alert("warning", "Added probes are left out", words, step=step)


def _version_of(path: Path) -> _Version | None:
    """What changes when a file does; None without one."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _words_for(refused: Sequence[ProbeRowError], *, num_probes: int) -> str:
    shown = "; ".join(str(error) for error in refused[:_SHOWN])
    more = f"; and {len(refused) - _SHOWN:,} more" if len(refused) > _SHOWN else ""
    rest = "None is asked" if len(refused) == num_probes else "The others are asked"
    return f"{len(refused):,} of {num_probes:,} cannot be asked: {shown}{more}. {rest}; put the rows right."
