"""Runs that somebody might want, for the tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Outlook
from trainer.preflight.question import Question
from trainer.recipes.registry import recipes, validate

SMALL = {"dim": 16, "hidden_dim": 16, "num_buckets": 1024, "batch_size": 16, "device": "cpu"}


def question(folder: Path, dataset: str | Path, **params: Any) -> Question:
    """A run of the two-tower recipe in ``folder``."""
    return Question(
        recipe="two_tower",
        declaration=recipes()["two_tower"].preflight,
        dataset=str(dataset),
        params=validate(recipes()["two_tower"], {**SMALL, **params}),
        datasets_dir=folder / "datasets",
        runs_dir=folder / "runs",
    )


def pairs(path: Path, *, count: int = 200, groups: int = 20) -> Path:
    """Pairs that can be learnt, as JSONL."""
    rows = [
        {"query": f"word{n} thing{n % 7}", "document": f"about word{n} and more", "group": str(n % groups)}
        for n in range(count)
    ]
    return write(path, rows)


def write(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def outlook(**fields: Any) -> Outlook:
    """An outlook without anything to complain of, but for ``fields``."""
    fine: dict[str, Any] = {
        "num_examples": 20_000,
        "num_train": 18_000,
        "num_held_out": 2000,
        "is_estimated": False,
        "batch_size": 500,
        "accumulate": 1,
        "steps_per_epoch": 36,
        "total_steps": 360,
        "warmup_steps": 20,
        "eval_every": 36,
        "checkpoint_every": 36,
        "keep_checkpoints": 3,
        "is_recurrent": False,
        "checkpoint_bytes": 100 * 2**20,
        "snapshots_bytes": 2**20,
        "memory_bytes": 2**30,
        "device_bytes": 2**29,
        "step_flop": 1e9,
    }
    return Outlook(**{**fine, **fields})


def verdicts(checks: Iterable[Check]) -> dict[str, Verdict]:
    """Verdict by id."""
    return {check.id: check.verdict for check in checks}


def one(checks: Iterable[Check], name: str) -> Check:
    """The check called ``name``."""
    (found,) = [check for check in checks if check.id == name]
    return found
