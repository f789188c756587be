"""A small real task: sparse embedding bags, dropout, rows drawn anew each epoch, two optimizers.

It has everything that makes an exact resume hard. As a program,
``python -m tests.children.tiny_task RUN_DIR ATTEMPT``, it trains the run of
the folder like any recipe would.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer, SparseAdam

from trainer.engine.loop import train
from trainer.engine.process import train_run
from trainer.engine.task import LoopConfig, LossOutput, ProbeAnswers, Tell
from trainer.protocol.events import Phase
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

NUM_ROWS, NUM_WORDS, NUM_TOKENS, NUM_CLASSES, WIDTH, NUM_PROBES = 203, 64, 5, 4, 16, 6


class TinyTask:
    """Learns which class a bag of words belongs to; classes are a rule on the words, so it can learn."""

    name = "classification"

    def __init__(
        self, *, seed: int, batch_size: int = 16, learning_rate: float = 0.01, step_s: float = 0.0
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        self._words = torch.randint(NUM_WORDS, (NUM_ROWS, NUM_TOKENS), generator=generator)
        self._labels = self._words.max(dim=1).values * NUM_CLASSES // NUM_WORDS
        self._batch_size = batch_size
        self._step_s = step_s
        self._order = torch.arange(NUM_ROWS)
        self.bag = nn.EmbeddingBag(NUM_WORDS, WIDTH, sparse=True)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(WIDTH, NUM_CLASSES))
        self._optimizers: list[Optimizer] = [
            SparseAdam(list(self.bag.parameters()), lr=learning_rate),
            AdamW(self.head.parameters(), lr=learning_rate),
        ]

    def modules(self) -> dict[str, nn.Module]:
        return {"bag": self.bag, "head": self.head}

    def optimizers(self) -> list[Optimizer]:
        return self._optimizers

    def num_micro_batches(self, epoch: int) -> int:
        return -(-NUM_ROWS // self._batch_size)

    def micro_batches(self, epoch: int, *, start: int, every: int = 1) -> Iterator[Any]:
        for first in range(start * self._batch_size, NUM_ROWS, self._batch_size * every):
            yield self._order[first : first + self._batch_size]

    def loss(self, micro_batch: Any) -> LossOutput:
        time.sleep(self._step_s)
        logits: Tensor = self.head(self.bag(self._words[micro_batch]))
        loss = nn.functional.cross_entropy(logits, self._labels[micro_batch])
        return LossOutput(
            loss, math.log(NUM_CLASSES), len(micro_batch), {"num_rows": float(len(micro_batch))}
        )

    def begin_epoch(self, epoch: int, tell: Tell) -> None:
        self._order = torch.randperm(NUM_ROWS)
        tell("drawing rows", 1.0)

    def evaluate(self, tell: Tell) -> dict[str, float]:
        torch.rand(3)  # must not change what comes after
        tell("asking", 0.5)
        logits = self.head(self.bag(self._words))
        loss = nn.functional.cross_entropy(logits, self._labels).item()
        return {"loss": loss, "accuracy": (logits.argmax(1) == self._labels).float().mean().item()}

    def probes(self) -> list[dict[str, Any]]:
        return [
            {
                "example_id": f"row-{row}",
                "input": str(self._words[row].tolist()),
                "expected_output": str(self._labels[row].item()),
                "group": "all",
                "gold": str(self._labels[row].item()),
            }
            for row in range(NUM_PROBES)
        ]

    def probe(self) -> ProbeAnswers:
        torch.rand(3)  # must not change what comes after
        logits = self.head(self.bag(self._words[:NUM_PROBES]))
        losses = nn.functional.cross_entropy(logits, self._labels[:NUM_PROBES], reduction="none")
        answers = logits.argmax(1)
        correct = (answers == self._labels[:NUM_PROBES]).float()
        return ProbeAnswers(
            columns={"loss": losses.tolist(), "correct": correct.tolist(), "score": [math.nan] * NUM_PROBES},
            outputs=[{"top": [[f"class-{answer}", 1.0]]} for answer in answers.tolist()],
            documents={
                f"class-{answer}": {"title": f"Class {answer}", "text": "words"}
                for answer in answers.tolist()
            },
            summary={"mean_score": math.nan},
        )

    def state_dict(self) -> dict[str, Any]:
        return {"order": self._order}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._order = state["order"]


TASK_PARAMS = ("batch_size", "learning_rate", "step_s")


def create_run(root: Path, **params: Any) -> RunPaths:
    """A run folder for the tiny task; ``params`` are those of the task and of :class:`LoopConfig`."""
    paths = RunPaths(root)
    root.mkdir(parents=True, exist_ok=True)
    RunSpec(
        run_id=root.name,
        name="tiny",
        recipe="tiny",
        dataset="rows",
        params={"seed": 7, "best_metric": "accuracy", **params},
        created_at=1.0,
        datasets_dir=str(root),
    ).save(paths)
    return paths


def build(spec: RunSpec) -> tuple[TinyTask, LoopConfig]:
    """The task and the loop configuration of a run."""
    params = dict(spec.params)
    own = {name: params.pop(name) for name in TASK_PARAMS if name in params}
    return TinyTask(seed=params["seed"], **own), LoopConfig(**params)


def entry(spec: RunSpec, paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Train like a recipe does."""
    reporter.phase(Phase.LOADING, step=0)
    task, config = build(spec)
    train(task, config, spec=spec, paths=paths, reporter=reporter, controls=controls)


if __name__ == "__main__":
    torch.set_num_threads(1)
    train_run(RunPaths(Path(sys.argv[1])), attempt=int(sys.argv[2]), entry=entry)
