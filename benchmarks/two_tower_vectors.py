"""What the engine costs beside a bare PyTorch loop of the same maths, on pre-computed vectors.

B=256 pairs per step, T=10 vectors of D=768 per query, a GRU with 512 units,
an identity document tower, InfoNCE, clipping, AdamW.  Both sides do the same
number of steps in turns in one process; the bare loop takes contiguous slices.

Run: ``python -m benchmarks.two_tower_vectors [--rounds 15] [--steps 9] [--output FILE]``
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from benchmarks.spread import spread
from trainer.datasets.records import VectorPairs
from trainer.engine.loop import train
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths, RunSpec, segments
from trainer.recipes.registry import recipes, validate
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.material import from_vectors
from trainer.tasks.two_tower.model import vector_towers
from trainer.tasks.two_tower.task import TwoTowerTask
from trainer.tasks.two_tower.train import loop_config
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

BATCH, LENGTH, DIM, HIDDEN, TEMPERATURE = 256, 10, 768, 512, 0.07
NUM_PAIRS = 4096


def vectors() -> VectorPairs:
    """Random documents, and queries that are noisy sequences around them."""
    generator = np.random.default_rng(0)
    documents = generator.normal(size=(NUM_PAIRS, DIM)).astype(np.float32)
    noise = generator.standard_normal((NUM_PAIRS, LENGTH, DIM), dtype=np.float32)
    ids = [str(row) for row in range(NUM_PAIRS)]
    return VectorPairs("vectors", ids, documents[:, None] + noise, documents, ids, ids, ids, "generated")


def engine_pauses(pairs: VectorPairs, *, num_steps: int) -> list[float]:
    """Seconds of the engine's steps, from the times of its own reports."""
    changes = {
        "batch_size": BATCH, "dim": DIM, "hidden_dim": HIDDEN, "document_tower": "identity",
        "bidirectional": False, "temperature": TEMPERATURE, "symmetric": False, "max_steps": num_steps,
        "eval_every": 1_000_000, "checkpoint_every": 1_000_000, "snapshot_budget": 0.0, "num_probes": 1,
        "device": "cpu",
    }  # fmt: skip
    params = TwoTowerParams.model_validate(validate(recipes()["two_tower"], changes))
    material = from_vectors(pairs, params)
    towers = vector_towers(params, query_dim=DIM, document_dim=DIM, device=torch.device("cpu"))
    task = TwoTowerTask(material, towers, params)
    with tempfile.TemporaryDirectory() as folder:
        paths = RunPaths(Path(folder))
        spec = RunSpec("benchmark", "", "two_tower", "vectors", params.model_dump(), time.time(), folder)
        reporter = Reporter(paths, attempt=1)
        try:
            train(
                task,
                loop_config(params, task),
                spec=spec,
                paths=paths,
                reporter=reporter,
                controls=Controls(paths),
            )
        finally:
            reporter.close()
        lines = [
            line for part in segments(paths.spool(Stream.TRAINER)) for line in part.read_text().splitlines()
        ]
    times = [event["t"] for event in map(json.loads, lines) if "train/loss" in event.get("values", {})]
    return [later - earlier for earlier, later in pairwise(times)]


class BareTower(nn.Module):
    """A GRU, the mean of its outputs, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(DIM, HIDDEN, batch_first=True)
        self.project = nn.Linear(HIDDEN, DIM)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Unit vectors (B, D) of sequences (B, T, D)."""
        states, _ = self.gru(vectors)
        return F.normalize(self.project(states.mean(dim=1)), dim=-1)


def bare_pauses(pairs: VectorPairs, *, num_steps: int) -> list[float]:
    """Seconds of the steps of the shortest loop with the same maths."""
    queries, documents = torch.from_numpy(pairs.query_vectors), torch.from_numpy(pairs.document_vectors)
    tower = BareTower()
    optimizer = torch.optim.AdamW(tower.parameters(), lr=1e-3, weight_decay=0.01)
    target = torch.arange(BATCH)
    pauses = []
    for step in range(num_steps):
        began = time.perf_counter()
        start = step * BATCH % (NUM_PAIRS - BATCH)
        query = tower(queries[start : start + BATCH])
        document = F.normalize(documents[start : start + BATCH], dim=-1)
        loss = F.cross_entropy(query @ document.T / TEMPERATURE, target)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(tower.parameters(), 1.0)
        optimizer.step()
        pauses.append(time.perf_counter() - began)
    return pauses[1:]


def report(engine: list[list[float]], bare: list[list[float]], *, load: float) -> str:
    """The table of results, from the seconds of every step of every round."""
    ours, theirs = ([BATCH / statistics.median(one) for one in side] for side in (engine, bare))
    ratios = [rate / reference for rate, reference in zip(ours, theirs, strict=True)]
    best_ours, best_theirs = (BATCH / min(min(one) for one in side) for side in (engine, bare))
    return "\n".join([
        f"# Two towers on vectors, {date.today()}",
        "",
        f"B={BATCH}, T={LENGTH}, D={DIM}, GRU {HIDDEN}, {len(engine)} rounds of {len(engine[0])} steps by "
        f"turns. {platform.system()} {platform.machine()}, {torch.get_num_threads()} threads, Python "
        f"{platform.python_version()}, torch {torch.__version__}. Load average before: {load:.1f}.",
        "",
        "| what | examples/s of a round's median step: median (min..max) | of the fastest step |",
        "|---|---|---|",
        f"| engine: shuffled batches, reports, clipping, schedule | {spread(ours, 0)} | {best_ours:,.0f} |",
        f"| bare PyTorch loop on contiguous slices | {spread(theirs, 0)} | {best_theirs:,.0f} |",
        f"| engine / bare (to reach: 0.90) | {spread(ratios, 2)} | {best_ours / best_theirs:.2f} |",
        "",
    ])  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--output", type=Path, help="also write the table here")
    arguments = parser.parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    load, pairs = os.getloadavg()[0], vectors()
    engine: list[list[float]] = []
    bare: list[list[float]] = []
    for number in range(arguments.rounds):
        sides = [(engine, engine_pauses), (bare, bare_pauses)]
        for rounds, measure in sides if number % 2 == 0 else reversed(sides):
            rounds.append(measure(pairs, num_steps=arguments.steps))
    text = report(engine, bare, load=load)
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
