"""A small run that has really been trained, for all tests that ask one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.trainer.tasks.small_runs import finished, prepared
from tests.trainer.tasks.two_tower.small_material import text_pairs
from trainer.protocol.run_folder import RunPaths

SMALL = {
    "batch_size": 16, "dim": 16, "hidden_dim": 16, "num_buckets": 1024, "num_probes": 5, "num_epochs": 3,
    "device": "cpu", "held_out_fraction": 0.2, "warmup_steps": 2,
}  # fmt: skip


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """Trained by the trainer itself, with several checkpoints."""
    folder = tmp_path_factory.mktemp("asked")
    dataset, pairs = folder / "functions.jsonl", text_pairs()
    rows = zip(pairs.ids, pairs.queries, pairs.documents, pairs.groups, strict=True)
    dataset.write_text(
        "\n".join(json.dumps({"id": i, "query": q, "document": d, "group": g}) for i, q, d, g in rows)
    )
    paths = prepared("two_tower", folder / "run", dataset, **SMALL)
    finished(paths)
    return paths


@pytest.fixture
def run_copy(trained: RunPaths, tmp_path: Path) -> RunPaths:
    """The same run, to be broken."""
    shutil.copytree(trained.root, tmp_path / "run")
    return RunPaths(tmp_path / "run")
