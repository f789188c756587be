"""Asks the task its probes and writes the answers as one gzipped JSON object.

The format is described in ``trainer.protocol.events``. A document's text is
written into the first snapshot of the run that names it and not again.

Shape suffixes: B probes, D numbers of a vector.
"""

from __future__ import annotations

import hashlib
import math
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import orjson

from trainer.engine.task import ProbeAnswers, Task
from trainer.protocol.events import SNAPSHOT_FORMAT, encode_number, snapshot_name
from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.protocol.snapshot_vectors import LARGEST, refusal, vectors_field

_GZIP: Final = 31  # zlib's word for the gzip container
_COMPRESSION: Final = 5


class Announces(Protocol):
    """Who hears of each snapshot."""

    @property
    def attempt(self) -> int:
        """Under which attempt it goes."""

    def snapshot(self, step: int, file: str, summary: dict[str, float], cost_s: float) -> None:
        """A snapshot lies in its folder."""


class SnapshotWriter:
    """Writes the snapshots of one attempt; remembers which documents the run has sent."""

    def __init__(
        self,
        task: Task,
        *,
        spec: RunSpec,
        paths: RunPaths,
        reporter: Announces,
        dataset: str | None = None,
        mark: str = "",
        folder: str = "",
    ) -> None:
        """Nothing is asked yet.

        Args:
            task: who is asked.
            spec: of the run.
            paths: in whose ``snapshots`` they are written.
            reporter: hears of each.
            dataset: the name they go by; None stands for that of the run's dataset.
            mark: what stands behind the model's version, to tell these from others.
            folder: below ``snapshots``, where they lie; empty for there.
        """
        self._task = task
        self._dataset = dataset_name(spec.dataset) if dataset is None else dataset
        self._mark = f" {mark}" if mark else ""
        self._folder = f"{folder}/" if folder else ""
        self._spec = spec
        self._paths = paths
        self._reporter = reporter
        self._sent: set[str] = set()
        self._probes: dict[str, Any] | None = None
        self.last_step: int | None = None

    def take(self, *, step: int, epoch: float) -> float:
        """Ask the probes, write the file and report it; returns what it cost in seconds.

        Raises:
            ValueError: the task's answers do not match its probes; names the column.
            OSError: the file cannot be written.
        """
        started = time.perf_counter()
        answers = self._task.probe()
        probes = self.probe_set()
        _check_lengths(answers, num_probes=len(probes["examples"]))
        fresh = {key: text for key, text in answers.documents.items() if key not in self._sent}
        summary = _summarise(answers)
        content = {
            "format": SNAPSHOT_FORMAT,
            "task": self._task.name,
            "dataset": self._dataset,
            "step": step,
            "epoch": epoch,
            "t": time.time(),
            "model_version": f"{self._spec.run_id}@{step}{self._mark}",
            "probe_set": probes["hash"],
            "attempt": self._reporter.attempt,
            "columns": {name: _encode(column) for name, column in answers.columns.items()},
            "outputs": _encode(answers.outputs),
            "documents": fresh,
            "probes": probes,
            "summary": _encode(summary),
        }
        vectors = placed_vectors(answers)
        if vectors is not None:
            content["vectors"] = vectors
        name = self._folder + snapshot_name(step)
        write_atomic(self._paths.snapshots / name, _compress(content, started=started))
        self._sent.update(fresh)
        self.last_step = step
        cost_s = time.perf_counter() - started
        self._reporter.snapshot(step, name, summary, cost_s)
        return cost_s

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run must know."""
        return {"sent": sorted(self._sent), "last_step": self.last_step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of :meth:`state_dict`."""
        self._sent, self.last_step = set(state["sent"]), state["last_step"]

    def probe_set(self) -> dict[str, Any]:
        """``{"hash", "examples"}``: what is asked, known by its content."""
        if self._probes is None:
            examples = self._task.probes()
            digest = hashlib.sha256(orjson.dumps(examples, option=orjson.OPT_SORT_KEYS)).hexdigest()
            self._probes = {"hash": digest, "examples": examples}
        return self._probes


def dataset_name(dataset: str) -> str:
    """The plain name of a dataset: a built-in name as it is, a path's file name without its suffix."""
    path = Path(dataset)
    return path.stem if path.is_absolute() else dataset


def _summarise(answers: ProbeAnswers) -> dict[str, float]:
    losses = answers.columns.get("loss", [])
    total = len(answers.outputs)
    correct = sum(1 for value in answers.columns.get("correct", []) if value >= 1.0)
    return {
        **answers.summary,
        "avg_loss": sum(losses) / len(losses) if losses else math.nan,
        "accuracy": correct / total if total else math.nan,
        "total_examples": total,
        "correct": correct,
        "incorrect": total - correct,
    }


def _check_lengths(answers: ProbeAnswers, *, num_probes: int) -> None:
    counts = {name: len(column) for name, column in answers.columns.items()}
    counts["outputs"] = len(answers.outputs)
    if answers.vectors_BD is not None:
        counts["vectors"] = len(answers.vectors_BD)
    for name, count in counts.items():
        if count != num_probes:
            raise ValueError(f"the task answers {count} of its {num_probes} probes in {name!r}")


def placed_vectors(answers: ProbeAnswers) -> dict[str, Any] | None:
    """The field ``vectors``; None for what a model that has diverged, or is too large, leaves out."""
    vectors_BD = answers.vectors_BD
    if vectors_BD is None or vectors_BD.ndim != 2 or refusal(*vectors_BD.shape) is not None:
        return None
    if not np.isfinite(vectors_BD).all():
        return None
    packed = np.clip(vectors_BD, -LARGEST, LARGEST).astype("<f2").tobytes()
    return vectors_field(vectors_BD.shape[1], packed)


def _encode(value: Any) -> Any:
    """``value`` with NaN and infinities as words."""
    if isinstance(value, float):
        return encode_number(value)
    if isinstance(value, dict):
        return {key: _encode(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_encode(entry) for entry in value]
    return value


def _compress(content: dict[str, Any], *, started: float) -> bytes:
    """``content`` gzipped, with ``cost_s`` up to this moment as its last entry."""
    compressor = zlib.compressobj(_COMPRESSION, zlib.DEFLATED, _GZIP)
    body = compressor.compress(orjson.dumps(content)[:-1])
    cost_s = time.perf_counter() - started
    return body + compressor.compress(b',"cost_s":%.6f}' % cost_s) + compressor.flush()
