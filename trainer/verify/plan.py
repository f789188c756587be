"""What is tried, in which order, on which slice of the corpus."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.datasets.records import TextPairs
from trainer.protocol.run_folder import RunSpec
from trainer.recipes.registry import recipes, validate

RECIPE: Final = "two_tower"
SLICE_PAIRS: Final = 2400
FEW_STEPS: Final = 3


@dataclass(frozen=True)
class Stage:
    """One thing to prove: its name for scripts, and in words."""

    id: str
    title: str


CORPUS: Final = Stage("corpus", "Corpus")
TRAIN: Final = Stage("train", "Two epochs")
KILL: Final = Stage("kill", "Killed on the way")
RESUME: Final = Stage("resume", "Exact resume")
GROW_2: Final = Stage("grow_2", "2 examples")
GROW_100: Final = Stage("grow_100", "100 examples")
GROW_ALL: Final = Stage("grow_all", "All examples")
CLEAN: Final = Stage("clean", "Nothing left behind")
STAGES: Final = (CORPUS, TRAIN, KILL, RESUME, GROW_2, GROW_100, GROW_ALL, CLEAN)

# Small, and through everything: mining in the second epoch, evaluation, snapshots, checkpoints in between.
_SMALL: Final[dict[str, Any]] = {
    "device": "cpu",
    "dim": 64,
    "hidden_dim": 64,
    "num_buckets": 8192,
    "batch_size": 32,
    "num_epochs": 2,
    "warmup_steps": 4,
    "mined_negatives": 2,
    "mine_from_epoch": 1,
    "checkpoint_every": 15,
    "keep_checkpoints": 2,
    "num_probes": 20,
    "snapshot_budget": 1.0,
}


def two_epochs(name: str, dataset: Path, datasets_dir: Path) -> RunSpec:
    """The run that is trained through once, and killed and resumed once."""
    return _spec(name, str(dataset), datasets_dir, _SMALL)


def grown(name: str, dataset: str, datasets_dir: Path, *, num_examples: int) -> RunSpec:
    """A few steps on ``num_examples`` examples of ``dataset``; 0 takes all."""
    params = {
        **_SMALL,
        "max_pairs": num_examples,
        "max_steps": FEW_STEPS,
        "batch_size": min(256, num_examples // 2 + 1 if num_examples else 256),
        "mined_negatives": 1 if num_examples else 0,
        "mine_from_epoch": 0,
        "num_buckets": 8192 if num_examples else 32_768,  # the demo's features are hashed and kept already
        "warmup_steps": 1,
        "checkpoint_every": 0,
    }
    return _spec(name, dataset, datasets_dir, params)


def write_slice(corpus: TextPairs, path: Path) -> int:
    """Write whole groups of ``corpus`` as JSONL until there are enough pairs; how many there are."""
    last = corpus.groups[min(SLICE_PAIRS, len(corpus)) - 1]
    rows = [row for row in range(len(corpus)) if row < SLICE_PAIRS or corpus.groups[row] == last]
    path.write_text("".join(_line(corpus, row) for row in rows), encoding="utf-8")
    return len(rows)


def _line(corpus: TextPairs, row: int) -> str:
    columns: dict[str, Sequence[str]] = {
        "query": corpus.queries,
        "document": corpus.documents,
        "group": corpus.groups,
        "id": corpus.ids,
    }
    return json.dumps({name: column[row] for name, column in columns.items()}) + "\n"


def _spec(name: str, dataset: str, datasets_dir: Path, params: dict[str, Any]) -> RunSpec:
    return RunSpec(
        run_id=name,
        name=name,
        recipe=RECIPE,
        dataset=dataset,
        params=validate(recipes()[RECIPE], params),
        created_at=time.time(),
        datasets_dir=str(datasets_dir),
        num_concurrent=2,  # always two at a time here, and every one with as many threads as every other
        stop_grace_s=5.0,
        policy={"max_attempts": 1},
    )
