"""A small dataset with everything that makes retrieval hard: equal documents, equal queries, groups."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trainer.datasets.records import TextPairs, VectorPairs
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.material import Material, from_texts, from_vectors
from trainer.tasks.two_tower.model import text_towers, vector_towers
from trainer.tasks.two_tower.task import TwoTowerTask

VERBS = ("open", "close", "read", "write", "merge", "split", "sort", "count", "find", "drop")
THINGS = ("file", "socket", "table", "tensor", "graph", "queue", "string", "matrix", "cache", "thread")


def silent(detail: str, fraction: float) -> None:
    """Tell nobody."""


def params(**changes: Any) -> TwoTowerParams:
    """Settings small enough for a test."""
    small = {
        "batch_size": 16,
        "dim": 16,
        "hidden_dim": 16,
        "num_buckets": 1024,
        "num_probes": 12,
        "num_epochs": 3,
        "device": "cpu",
        "held_out_fraction": 0.2,
        "warmup_steps": 0,
    }
    return TwoTowerParams.model_validate({**small, **changes})


def text_pairs() -> TextPairs:
    """200 pairs in 20 groups; pair 2 has the document of pair 1, pair 4 the query of pair 3."""
    queries, documents, groups = [], [], []
    for number in range(200):
        verb, thing, group = VERBS[number % 10], THINGS[number // 10 % 10], number // 10
        queries.append(f"{verb} a {thing} carefully, variant {group}")
        documents.append(f"{thing}.{verb}_{group}(target)\n\nWorks on one {thing} at a time.")
        groups.append(f"module_{group}")
    documents[2], queries[4] = documents[1], queries[3]
    content = hashlib.sha256(repr((queries, documents, groups)).encode()).hexdigest()
    ids = [f"pair_{number}" for number in range(200)]
    titles = [document.split("\n")[0] for document in documents]
    return TextPairs("small", ids, queries, documents, titles, groups, content)


def vector_pairs(*, num_rows: int = 120, length: int = 5, dim: int = 8) -> VectorPairs:
    """Queries are noisy sequences around their document; pair 2 has the document of pair 1."""
    generator = np.random.default_rng(0)
    documents = generator.normal(size=(num_rows, dim)).astype(np.float32)
    documents[2] = documents[1]
    noise = generator.normal(size=(num_rows, length, dim))
    queries = (documents[:, None, :] + 0.3 * noise).astype(np.float32)
    ids = [str(number) for number in range(num_rows)]
    groups = [str(number // 4) for number in range(num_rows)]
    return VectorPairs("vectors", ids, queries, documents, ids, ids, groups, "hash of the vectors")


def text_task(folder: Path, **changes: Any) -> tuple[TwoTowerTask, Material]:
    """A task over :func:`text_pairs`, freshly seeded."""
    settings = params(**changes)
    material = from_texts(text_pairs(), settings, cache=folder, tell=silent)
    torch.manual_seed(settings.seed)
    return TwoTowerTask(material, text_towers(settings, torch.device("cpu")), settings), material


def vector_task(**changes: Any) -> tuple[TwoTowerTask, Material]:
    """A task over :func:`vector_pairs`, freshly seeded."""
    settings = params(**changes)
    pairs = vector_pairs()
    material = from_vectors(pairs, settings)
    torch.manual_seed(settings.seed)
    towers = vector_towers(settings, query_dim=8, document_dim=8, device=torch.device("cpu"))
    return TwoTowerTask(material, towers, settings), material


def train_steps(task: TwoTowerTask, *, epochs: int, first: int = 0) -> list[float]:
    """A bare loop; the losses of its steps."""
    losses = []
    for epoch in range(first, first + epochs):
        task.begin_epoch(epoch, silent)
        for batch in task.micro_batches(epoch, start=0):
            output = task.loss(batch)
            for optimizer in task.optimizers():
                optimizer.zero_grad()
            output.loss.backward()  # type: ignore[no-untyped-call]
            for optimizer in task.optimizers():
                optimizer.step()
            losses.append(output.loss.item())
    return losses
