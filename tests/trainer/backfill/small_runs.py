"""A run of seconds of each recipe, really trained, with three checkpoints kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.trainer.tasks.causal_lm.small_corpus import SMALL as SMALL_LM
from tests.trainer.tasks.causal_lm.small_corpus import write_completions
from tests.trainer.tasks.small_runs import finished, prepared
from tests.trainer.tasks.text_classification.small_texts import SMALL as SMALL_CLASSIFIER
from tests.trainer.tasks.text_classification.small_texts import write_texts
from tests.trainer.tasks.two_tower.small_material import text_pairs
from trainer.protocol.run_folder import RunPaths

SMALL_TOWERS: dict[str, Any] = {
    "batch_size": 16, "dim": 16, "hidden_dim": 16, "num_buckets": 1024, "num_probes": 5,
    "device": "cpu", "held_out_fraction": 0.2, "warmup_steps": 2,
}  # fmt: skip
SMALL_RUNS = {
    "two_tower": SMALL_TOWERS,
    "text_classification": SMALL_CLASSIFIER,
    "causal_lm": SMALL_LM,
}
FEW_STEPS = {"max_steps": 12, "checkpoint_every": 4, "eval_every": 6, "keep_checkpoints": 3}


def train_small(recipe: str, folder: Path) -> RunPaths:
    """Train ``recipe`` by the trainer itself."""
    params = {**SMALL_RUNS[recipe], **FEW_STEPS}
    paths = prepared(recipe, folder / "run", write_dataset(recipe, folder), **params)
    finished(paths)
    return paths


def write_dataset(recipe: str, folder: Path) -> Path:
    """A dataset for ``recipe``; returns its path."""
    if recipe == "text_classification":
        return write_texts(folder / "texts.csv")
    if recipe == "causal_lm":
        return write_completions(folder / "completions.jsonl")
    pairs, path = text_pairs(), folder / "functions.jsonl"
    rows = zip(pairs.ids, pairs.queries, pairs.documents, pairs.groups, strict=True)
    lines = [json.dumps({"id": i, "query": q, "document": d, "group": g}) for i, q, d, g in rows]
    path.write_text("\n".join(lines))
    return path
