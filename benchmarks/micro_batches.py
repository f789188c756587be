"""What parts of a batch save in memory and cost in time, beside the whole batch at once.

A large tower over pre-computed vectors, so that the batch's intermediate
results outweigh everything else.  Every size runs in a process of its own;
"for the steps" is the highest resident memory less what was there before the
first step, optimizer state included.  The gradients of the first step are
compared with those of the whole batch.

Run: ``python -m benchmarks.micro_batches [--rounds 3] [--steps 3] [--output FILE]``
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import numpy as np
import psutil
import torch

from benchmarks.spread import spread
from trainer.datasets.records import VectorPairs
from trainer.engine import gradients
from trainer.recipes.registry import recipes, validate
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.material import from_vectors
from trainer.tasks.two_tower.model import vector_towers
from trainer.tasks.two_tower.task import TwoTowerTask

BATCH, LENGTH, DIM, HIDDEN, LAYERS = 256, 32, 128, 512, 2
SIZES = (0, 128, 64, 32, 16)


@dataclass
class Figures:
    """What one size showed, per round."""

    step_bytes: list[float] = field(default_factory=list)
    step_s: list[float] = field(default_factory=list)
    difference: list[float] = field(default_factory=list)


def task_of(micro_batch_size: int) -> TwoTowerTask:
    """The task, always with the same weights and batches."""
    generator = np.random.default_rng(0)
    documents = generator.standard_normal((4 * BATCH, DIM), dtype=np.float32)
    noise = generator.standard_normal((4 * BATCH, LENGTH, DIM), dtype=np.float32)
    ids = [str(row) for row in range(len(documents))]
    pairs = VectorPairs("vectors", ids, documents[:, None] + noise, documents, ids, ids, ids, "generated")
    changes = {
        "batch_size": BATCH, "dim": DIM, "hidden_dim": HIDDEN, "num_layers": LAYERS, "dropout": 0.1,
        "micro_batch_size": micro_batch_size, "device": "cpu",
    }  # fmt: skip
    params = TwoTowerParams.model_validate(validate(recipes()["two_tower"], changes))
    torch.manual_seed(0)
    towers = vector_towers(params, query_dim=DIM, document_dim=DIM, device=torch.device("cpu"))
    return TwoTowerTask(from_vectors(pairs, params), towers, params)


def measured(micro_batch_size: int, num_steps: int, gradient_file: Path) -> dict[str, float]:
    """Train a few steps in this process; the first step's gradients go to a file."""
    task = task_of(micro_batch_size)
    before = psutil.Process().memory_info().rss
    batches = task.micro_batches(0, start=0)
    seconds = []
    for step in range(num_steps):
        batch = next(batches)
        began = time.perf_counter()
        gradients.backward(task, [batch])
        if step == 0:
            found = [
                p.grad.flatten() for p in task.modules()["query_tower"].parameters() if p.grad is not None
            ]
            np.save(gradient_file, torch.cat(found).numpy())
        for optimizer in task.optimizers():
            optimizer.step()
            optimizer.zero_grad()
        seconds.append(time.perf_counter() - began)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {"bytes": float(peak - before), "step_s": statistics.median(seconds)}


def round_of(figures: dict[int, Figures], *, num_steps: int, folder: Path) -> None:
    """Every size once, each in a fresh process."""
    for size, shown in figures.items():
        file = folder / f"{size}.npy"
        command = [
            sys.executable,
            "-m",
            "benchmarks.micro_batches",
            "--child",
            str(size),
            str(num_steps),
            str(file),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout)
        shown.step_bytes.append(found["bytes"])
        shown.step_s.append(found["step_s"])
        whole, parts = np.load(folder / "0.npy"), np.load(file)
        shown.difference.append(float(np.abs(parts - whole).max() / np.abs(whole).max()))


def report(figures: dict[int, Figures], loads: list[float], rounds: int) -> str:
    """The table of results."""
    lines = [
        f"# Parts of a batch, {date.today()}",
        "",
        f"{rounds} rounds, {BATCH} pairs per step, queries of {LENGTH} vectors of length {DIM}, a "
        f"bidirectional GRU of {LAYERS} layers with {HIDDEN} units, dropout 0.1. "
        f"{platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} CPUs, torch {torch.__version__}, {torch.get_num_threads()} threads. "
        f"Load average: {min(loads):.1f} to {max(loads):.1f}.",
        "",
        "| pairs at once | MiB for the steps | share of the whole | s per step | gradients differ by |",
        "|---|---|---|---|---|",
    ]
    whole = statistics.median(figures[0].step_bytes)
    for size, shown in figures.items():
        cells = [
            str(size or f"{BATCH} (all)"),
            spread([one / 2**20 for one in shown.step_bytes], 0),
            f"{statistics.median(shown.step_bytes) / whole:.2f}",
            spread(shown.step_s, 2),
            f"{max(shown.difference):.1e}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "The largest difference of a gradient is relative to the largest gradient; it is rounding."]
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3, help="per size and round")
    parser.add_argument("--output", type=Path, help="also write the table here")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        size, num_steps, file = arguments.child
        print(json.dumps(measured(int(size), int(num_steps), Path(file))))
        return
    figures = {size: Figures() for size in SIZES}
    loads = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            loads.append(os.getloadavg()[0])
            round_of(figures, num_steps=arguments.steps, folder=Path(folder))
    text = report(figures, loads, arguments.rounds)
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
