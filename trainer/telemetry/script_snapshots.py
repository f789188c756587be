"""What a script's model answers to its fixed examples, written as a snapshot of the run."""

from __future__ import annotations

import gzip
import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from trainer.protocol.events import SNAPSHOT_FORMAT, encode_number, snapshot_name
from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import RunPaths
from trainer.protocol.snapshot_vectors import pack_rows, vectors_field
from trainer.telemetry.plain_json import dumps

TASK: Final = "script"
MAX_EXAMPLES: Final = 10_000
_COMPRESSION: Final = 5
_AS_SERVED: Final = "model_output"  # what the API calls an output; taken under this name, too
_TEXTS: Final = ("example_id", "input", "expected_output", "output", _AS_SERVED, "group")
_MAX_TEXT: Final = 100_000
_MAX_COLUMN_NAME: Final = 32


class SnapshotFiles:
    """Writes the snapshots of one attempt."""

    def __init__(self, paths: RunPaths, *, dataset: str, attempt: int) -> None:
        self._paths = paths
        self._attempt = attempt
        path = Path(dataset)
        self._dataset = (path.stem if path.is_absolute() else dataset) or "script"

    def write(
        self,
        step: int,
        examples: Sequence[Mapping[str, Any]],
        *,
        summary: Mapping[str, float],
        epoch: float,
        vectors: dict[str, Any] | None = None,
    ) -> tuple[str, dict[str, float]]:
        """Write one snapshot; its file name and its summary.

        Raises:
            ValueError: there are no examples.
            OSError: the file cannot be written.
        """
        began = time.perf_counter()
        chosen = list(examples)[:MAX_EXAMPLES]
        if not chosen:
            raise ValueError("a snapshot needs at least one example")
        probes = [_probe(example, number) for number, example in enumerate(chosen)]
        digest = hashlib.sha256(dumps(probes)).hexdigest()
        columns = _columns(chosen)
        figures = {**_summary(columns, len(chosen)), **summary}
        content = {
            "format": SNAPSHOT_FORMAT,
            "task": TASK,
            "dataset": self._dataset,
            "step": step,
            "epoch": float(epoch),
            "t": time.time(),
            "model_version": f"{self._paths.root.name}@{step}",
            "probe_set": digest,
            "attempt": self._attempt,
            "columns": {name: [encode_number(value) for value in column] for name, column in columns.items()},
            "outputs": [{"text": _output(example)} for example in chosen],
            "documents": {},
            "probes": {"hash": digest, "examples": probes},
            "summary": {name: encode_number(value) for name, value in figures.items()},
            "cost_s": time.perf_counter() - began,
        }
        if vectors is not None:
            content["vectors"] = vectors
        name = snapshot_name(step)
        write_atomic(self._paths.snapshots / name, gzip.compress(dumps(content), _COMPRESSION))
        return name, figures


def placed_vectors(vectors: Sequence[Any], num_examples: int) -> tuple[dict[str, Any] | None, str]:
    """The field ``vectors`` from an array, a tensor or rows of numbers; or None and why there is none."""
    try:
        as_lists = getattr(vectors, "tolist", None)
        rows = (as_lists() if as_lists is not None else list(vectors))[:MAX_EXAMPLES]
        expected = min(num_examples, MAX_EXAMPLES)
        if len(rows) != expected:
            return None, f"There are {len(rows)} vectors and {expected} examples."
        return vectors_field(*pack_rows(rows)), ""
    except (TypeError, ValueError, OverflowError, RuntimeError) as exc:
        return None, f"The vectors cannot be read: {exc}"[:500]


def _probe(example: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {
        "example_id": _text(example, "example_id")[:200] or f"example-{number}",
        "input": _text(example, "input"),
        "expected_output": _text(example, "expected_output"),
        "group": _text(example, "group")[:200],
        "gold": None,
    }


def _text(example: Mapping[str, Any], name: str) -> str:
    value = example.get(name)
    return "" if value is None else str(value)[:_MAX_TEXT].encode("utf-8", "replace").decode()


def _output(example: Mapping[str, Any]) -> str:
    return _text(example, "output" if "output" in example else _AS_SERVED)


def _columns(examples: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """A column per number that examples have, and ``correct`` always: by the words when nobody says it."""
    every = dict.fromkeys(str(name) for example in examples for name in example)
    names = [name for name in every if name not in _TEXTS and len(name) <= _MAX_COLUMN_NAME]
    columns = {name: [_number(example.get(name)) for example in examples] for name in names}
    columns = {name: column for name, column in columns.items() if not all(map(math.isnan, column))}
    if "correct" not in columns:
        columns["correct"] = [float(_is_same(example)) for example in examples]
    return columns


def _is_same(example: Mapping[str, Any]) -> bool:
    return _output(example).strip() == _text(example, "expected_output").strip()


def _number(value: Any) -> float:
    try:
        return math.nan if value is None or isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return math.nan


def _summary(columns: Mapping[str, list[float]], total: int) -> dict[str, float]:
    losses = [value for value in columns.get("loss", []) if not math.isnan(value)]
    correct = sum(value >= 1.0 for value in columns["correct"])
    return {
        "avg_loss": sum(losses) / len(losses) if losses else math.nan,
        "accuracy": correct / total,
        "total_examples": total,
        "correct": correct,
        "incorrect": total - correct,
    }
