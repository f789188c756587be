"""The three ways of doing the same steps that :mod:`benchmarks.recipes` compares.

Each begins with the same weights, gets the same batches and uses the same
optimizer; they differ in what goes on around the model.
"""

from __future__ import annotations

import json
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from trainer.engine import gradients
from trainer.engine.loop import LoopConfig, train
from trainer.engine.task import Task
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths, RunSpec, segments
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

MAX_NORM = 1.0


@dataclass(frozen=True)
class Timed:
    """Seconds, CPU seconds of all threads and loss (nats) of each step."""

    wall_s: list[float]
    cpu_s: list[float]
    losses: list[float]


class Clock:
    """Notes the time whenever somebody asks for a batch: a step begins, the one before has ended."""

    def __init__(self) -> None:
        self._wall: list[float] = []
        self._cpu: list[float] = []

    def tick(self) -> None:
        """A step begins."""
        self._wall.append(time.perf_counter())
        self._cpu.append(time.process_time())

    def timed(self, losses: list[float]) -> Timed:
        """What was noted."""
        wall, cpu = ([later - earlier for earlier, later in pairwise(one)] for one in (self._wall, self._cpu))
        return Timed(wall, cpu, losses)


class Contender(ABC):
    """One recipe with one model: builds its task, and knows its maths in the plainest words."""

    recipe: str

    @abstractmethod
    def task(self) -> Task:
        """The recipe's task with the weights of the first step."""

    @abstractmethod
    def plain_loss(self, task: Any, batch: Any) -> Tensor:
        """The loss of a batch without any help of the task."""

    def model(self, task: Any) -> nn.Module | None:
        """The Hugging Face model of the task; None where the ``Trainer`` has no such loss."""
        return None

    def for_trainer(self, batch: Any) -> dict[str, Tensor]:
        """The batch as the Hugging Face ``Trainer`` wants it."""
        raise NotImplementedError


def engine(contender: Contender, *, num_steps: int) -> Timed:
    """The recipe's task in the product's loop, every step reported into a spool."""
    clock, task = Clock(), contender.task()
    inner = task.micro_batches

    def told(epoch: int, *, start: int) -> Iterator[Any]:
        return _ticking(inner(epoch, start=start), clock)

    vars(task)["micro_batches"] = told
    config = LoopConfig(
        max_steps=num_steps, max_grad_norm=MAX_NORM, schedule="constant", snapshot_budget=0.0, evaluates=False
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = RunPaths(Path(folder))
        spec = RunSpec("benchmark", "", contender.recipe, "python_docs", {}, time.time(), folder)
        reporter = Reporter(paths, attempt=1, narrates=False)
        try:
            train(task, config, spec=spec, paths=paths, reporter=reporter, controls=Controls(paths))
        finally:
            reporter.close()
        parts = segments(paths.spool(Stream.TRAINER))
        events = [json.loads(line) for part in parts for line in part.read_text().splitlines()]
    losses = [event["values"]["train/loss"] for event in events if "train/loss" in event.get("values", {})]
    return clock.timed(losses)


def bare(contender: Contender, *, num_steps: int) -> Timed:
    """The shortest loop: ready-made batches, forward, backward, clipping, update."""
    clock, task = Clock(), contender.task()
    batches = list(islice(task.micro_batches(0, start=0), num_steps))
    modules = task.modules().values()
    unique = {id(one): one for module in modules for one in module.parameters() if one.requires_grad}
    for module in modules:
        module.train()
    losses = []
    for batch in batches:
        clock.tick()
        loss = contender.plain_loss(task, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        _clip(list(unique.values()))
        for optimizer in task.optimizers():
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.detach())
    return clock.timed(torch.stack(losses).tolist())


def hugging_face(contender: Contender, *, num_steps: int) -> Timed:
    """The Hugging Face ``Trainer`` with its defaults of reporting: a line every 500 steps."""
    clock, task = Clock(), contender.task()
    batches = [contender.for_trainer(one) for one in islice(task.micro_batches(0, start=0), num_steps)]
    losses: list[Tensor] = []

    class Noting(Trainer):
        """Keeps the loss of each step."""

        def compute_loss(self, *arguments: Any, **options: Any) -> Any:
            found = super().compute_loss(*arguments, **options)
            losses.append((found[0] if isinstance(found, tuple) else found).detach())
            return found

    class Ticking(TrainerCallback):
        """Ticks when a step begins."""

        def on_step_begin(self, *arguments: Any, **options: Any) -> None:
            clock.tick()

    (optimizer,) = task.optimizers()
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder, max_steps=num_steps, per_device_train_batch_size=1, max_grad_norm=MAX_NORM, use_cpu=True,
            train_sampling_strategy="sequential", save_strategy="no", disable_tqdm=True, report_to="none",
        )  # fmt: skip
        trainer = Noting(
            contender.model(task), settings, train_dataset=batches, data_collator=lambda some: some[0],
            optimizers=(optimizer, LambdaLR(optimizer, lambda step: 1.0)), callbacks=[Ticking()],
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return clock.timed(torch.stack(losses).tolist())


def _ticking(batches: Iterator[Any], clock: Clock) -> Iterator[Any]:
    while True:
        clock.tick()
        batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _clip(parameters: list[nn.Parameter]) -> None:
    """To the norm; torch's own function knows no sparse gradients."""
    found = gradients.gradients_of(parameters)
    norm = nn.utils.get_total_norm(found)
    torch._foreach_mul_(found, torch.clamp(MAX_NORM / (norm + 1e-6), max=1.0))
