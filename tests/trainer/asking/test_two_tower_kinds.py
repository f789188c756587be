"""Every kind of two-tower run can be asked, with the weights of any of its checkpoints."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.tasks.two_tower.encoder_material import SCRATCH, saved_encoder
from tests.trainer.tasks.two_tower.small_material import (
    params,
    silent,
    text_pairs,
    train_steps,
    vector_pairs,
)
from trainer.engine import checkpoints
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.questions import checked
from trainer.recipes.two_tower_question import ALL, QUESTION
from trainer.tasks.two_tower.answerer import open_answerer
from trainer.tasks.two_tower.task import TwoTowerTask
from trainer.tasks.two_tower.train import load_task

CPU = torch.device("cpu")


def texts(folder: Path, query: str = "query") -> Path:
    pairs, path = text_pairs(), folder / "functions.jsonl"
    rows = zip(pairs.ids, pairs.queries, pairs.documents, pairs.groups, strict=True)
    lines = [json.dumps({"id": i, query: q, "document": d, "group": g}) for i, q, d, g in rows]
    path.write_text("\n".join(lines))
    return path


def split_file(folder: Path) -> Path:
    pairs, path = vector_pairs(), folder / "split.npz"
    sides = {"X": pairs.query_vectors, "Y": pairs.document_vectors}
    arrays: dict[str, Any] = {f"{name}_train": rows[:96] for name, rows in sides.items()}
    arrays |= {f"{name}_val": rows[96:] for name, rows in sides.items()}
    np.savez(path, **arrays)
    return path


def keyed_file(folder: Path) -> Path:
    pairs, path = vector_pairs(), folder / "keyed.npz"
    keys = np.array([[row // 4, row % 4] for row in range(len(pairs.ids))])
    arrays: dict[str, Any] = {
        "context_sequences": pairs.query_vectors,
        "target_vectors": pairs.document_vectors,
    }
    np.savez(path, **arrays, truth_keys=keys)
    return path


def asked_at_every_step(
    folder: Path, dataset: Path, query: str, *, columns: dict[str, str] | None = None, **changes: Any
) -> None:
    """Train two epochs, keep a checkpoint after each, and ask both for what the task itself finds then."""
    settings = params(**changes)
    paths, datasets_dir = RunPaths(folder / "run"), folder / "datasets"
    spec = RunSpec(
        run_id="run", name="asked", recipe="two_tower", dataset=str(dataset), params=settings.model_dump(),
        created_at=time.time(), datasets_dir=str(datasets_dir), columns=columns or {},
    )  # fmt: skip
    task, material = load_task(
        str(dataset), settings, datasets_dir=datasets_dir, device=CPU, tell=silent, columns=columns
    )
    row, best = list(material.ids).index(query), []
    for epoch in range(2):
        train_steps(task, epochs=1, first=epoch)
        modules = {name: module.state_dict() for name, module in task.modules().items()}
        state = {"modules": modules, "task": task.state_dict()}
        checkpoints.write(paths, state, step=epoch, epoch=epoch, metrics={}, reason="epoch", best=False)
        best.append(_scores(task, row))
    wanted = query if not material.query_texts or material.reader is None else material.query_texts[row]
    for step, scores in enumerate(best):
        answerer = open_answerer(spec, paths, paths.checkpoints / f"step_{step:06d}.pt", silent)
        found = answerer.answer(checked(QUESTION, {"query": wanted, "among": ALL, "count": 5}))
        assert [one["score"] for one in found["documents"]] == pytest.approx(scores, abs=1e-5)
        assert "note" not in found
    assert best[0] != pytest.approx(best[1], abs=1e-4), "the checkpoints are of different weights"


def _scores(task: TwoTowerTask, row: int) -> list[float]:
    material, towers = task._material, task._towers
    every = np.arange(len(material.document_ids), dtype=np.int64)
    documents = towers.vectors(towers.document, material.documents, every, chunk=64)
    query = towers.vectors(towers.query, material.queries, np.array([row]), chunk=1)[0]
    scores: list[float] = sorted((documents @ query).tolist(), reverse=True)[:5]
    return scores


@pytest.mark.parametrize("kind", ["trained", "frozen"])
def test_an_encoder_reads_the_question_as_it_read_the_texts(tmp_path: Path, kind: str) -> None:
    model = {} if kind == "trained" else {"model": str(saved_encoder(tmp_path / "m")), "encoder": "frozen"}
    asked_at_every_step(tmp_path, texts(tmp_path), "pair_7", **{**SCRATCH, **model})


def test_a_file_with_columns_of_its_own_names_is_read_as_the_run_read_it(tmp_path: Path) -> None:
    asked_at_every_step(tmp_path, texts(tmp_path, "frage"), "pair_7", columns={"query": "frage"})


@pytest.mark.parametrize(("file", "query"), [(split_file, "val/3"), (keyed_file, "5/2")])
@pytest.mark.parametrize(
    "towers",
    [
        {"query_tower": "gru", "document_tower": "identity"},
        {"query_tower": "mlp", "document_tower": "mlp", "share_towers": True},
        {"query_tower": "identity", "document_tower": "linear"},
    ],
)
def test_vectors_of_both_original_layouts_are_asked_by_the_id_of_a_pair(
    tmp_path: Path, file: Any, query: str, towers: dict[str, Any]
) -> None:
    asked_at_every_step(tmp_path, file(tmp_path), query, dim=8, learning_rate=0.01, **towers)
