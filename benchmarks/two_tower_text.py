"""How fast the demo learns: the documentation corpus, a real trainer process, the recipe's defaults.

Measured per round: building the corpus, from the start of the process to the
first loss with everything cached, and held-out recall@10 over the seconds of
training, evaluations, snapshots and checkpoints included.  The reference is a
bare loop over the same batches, without engine, reports or checkpoints.

Run: ``python -m benchmarks.two_tower_text [--rounds 3] [--seconds 60] [--output FILE]``
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from benchmarks.spread import spread
from trainer.datasets import python_docs
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths, RunSpec, segments
from trainer.recipes.registry import recipes, validate
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.train import load_task

GOALS = ((0.3, 15.0), (0.6, 60.0))  # recall@10, and within how many seconds of training
EVAL_EVERY = 10


@dataclass(frozen=True)
class Round:
    """What one run of the trainer showed; all times in seconds."""

    first_loss_s: float
    recall: list[tuple[float, float]]  # seconds of training, held-out recall@10
    probes_before: float  # recall@10 of the probes at step 0
    steps_per_s: float


@dataclass
class Corpus:
    """What building the corpus took, per round."""

    num_pairs: int = 0
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)


def train(folder: Path, *, datasets_dir: Path, seconds: float, params: dict[str, Any]) -> Round:
    """Run the trainer for about ``seconds`` of training and read its spool."""
    paths = RunPaths(folder)
    RunSpec(
        run_id=folder.name, name="benchmark", recipe="two_tower", dataset=python_docs.NAME, params=params,
        created_at=time.time(), datasets_dir=str(datasets_dir),
    ).save(paths)  # fmt: skip
    command = [sys.executable, "-u", "-m", "trainer.engine", str(folder), "--attempt", "1"]
    threads = str(os.cpu_count() or 1)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    started = time.time()
    with subprocess.Popen(command, env=environment) as process:
        while process.poll() is None:
            began = _training_began(events(paths))
            if began is not None and time.time() - began > seconds:
                process.terminate()
                process.wait()
            time.sleep(0.2)
    return summarised(events(paths), started=started)


def events(paths: RunPaths) -> list[dict[str, Any]]:
    """Everything reported so far."""
    lines = [
        line
        for part in segments(paths.spool(Stream.TRAINER))
        for line in part.read_text().splitlines(keepends=True)
    ]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _training_began(found: list[dict[str, Any]]) -> float | None:
    return next((e["t"] for e in found if e["type"] == "phase" and e["name"] == "training"), None)


def summarised(found: list[dict[str, Any]], *, started: float) -> Round:
    """The figures of one run from its events."""
    began = _training_began(found)
    if began is None:
        raise SystemExit("the trainer ended before it trained; its message is above")
    metrics = [event for event in found if event["type"] == "metrics"]
    losses = [event for event in metrics if "train/loss" in event["values"]]
    recall = [
        (e["t"] - began, e["values"]["eval/recall@10"]) for e in metrics if "eval/recall@10" in e["values"]
    ]
    snapshot = next(event["summary"]["recall@10"] for event in found if event["type"] == "snapshot")
    times = [event["t"] for event in losses]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    return Round(losses[0]["t"] - started, recall, snapshot, 1 / statistics.median(pauses))


def bare_steps_per_s(datasets_dir: Path, params: TwoTowerParams, *, num_steps: int) -> float:
    """The same batches, loss and optimizers in the shortest loop there is."""
    task, _ = load_task(
        python_docs.NAME,
        params,
        datasets_dir=datasets_dir,
        device=torch.device("cpu"),
        tell=lambda d, f: None,
    )
    dense = [
        p for module in task.modules().values() for n, p in module.named_parameters() if "table" not in n
    ]
    pauses = []
    batches = task.micro_batches(0, start=0)
    for _ in range(num_steps):
        began = time.perf_counter()
        output = task.loss(next(batches))
        output.loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(dense, 1.0)
        for optimizer in task.optimizers():
            optimizer.step()
            optimizer.zero_grad()
        pauses.append(time.perf_counter() - began)
    return 1 / statistics.median(pauses)


def build_corpus(datasets_dir: Path, corpus: Corpus) -> None:
    """Build the corpus from nothing and note what it took."""
    began, cpu_before = time.perf_counter(), _cpu_s()
    corpus.num_pairs = len(python_docs.load(datasets_dir, lambda detail, fraction: None))
    corpus.wall_s.append(time.perf_counter() - began)
    corpus.cpu_s.append(_cpu_s() - cpu_before)


def _cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def seconds_to(goal: float, curve: list[tuple[float, float]]) -> float:
    """When the curve first reached the goal; infinite when it never did."""
    return next((seconds for seconds, recall in curve if recall >= goal), math.inf)


def report(corpus: Corpus, rounds: list[Round], bare: list[float], loads: list[float]) -> str:
    """The table of results."""

    def of_rounds(measure: Callable[[Round], float], digits: int = 1) -> str:
        return spread([measure(one) for one in rounds], digits)

    rows = [
        ("corpus built from nothing, s", spread(corpus.wall_s), "<= 15"),
        ("the same, CPU seconds of all its processes", spread(corpus.cpu_s), ""),
        ("process start to first loss, cached, s", of_rounds(lambda one: one.first_loss_s), "<= 6"),
        ("recall@10 of the probes before training", of_rounds(lambda one: one.probes_before, 3), "0.01"),
    ]
    for goal, within in GOALS:
        reached = spread([seconds_to(goal, one.recall) for one in rounds])
        rows.append((f"training until held-out recall@10 >= {goal}, s", reached, f"<= {within:g}"))
    rows += [
        ("held-out recall@10 at the end", of_rounds(lambda one: one.recall[-1][1], 3), ""),
        ("seconds of training at the end", of_rounds(lambda one: one.recall[-1][0]), ""),
        ("steps/s, engine", of_rounds(lambda one: one.steps_per_s), ""),
        ("steps/s, bare loop over the same batches", spread(bare), ""),
    ]
    lines = [
        f"# Two towers on the documentation corpus, {date.today()}",
        "",
        f"{len(rounds)} rounds, {corpus.num_pairs:,} pairs, the recipe's defaults, evaluated every "
        f"{EVAL_EVERY} steps. {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python "
        f"{platform.python_version()}, torch {torch.__version__}. Load average before each round: "
        f"{spread(loads)}; figures of a busy machine are upper bounds.",
        "",
        "| what | median (min..max) | to reach |",
        "|---|---|---|",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="of training per round")
    parser.add_argument("--output", type=Path, help="also write the table here")
    arguments = parser.parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    params = validate(recipes()["two_tower"], {"eval_every": EVAL_EVERY, "device": "cpu"})
    checked = TwoTowerParams.model_validate(params)
    corpus = Corpus()
    rounds: list[Round] = []
    bare: list[float] = []
    loads: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            loads.append(os.getloadavg()[0])
            datasets_dir = Path(folder, f"datasets-{number}")
            build_corpus(datasets_dir, corpus)
            bare.append(bare_steps_per_s(datasets_dir, checked, num_steps=40))
            run = Path(folder, f"run-{number}")
            rounds.append(train(run, datasets_dir=datasets_dir, seconds=arguments.seconds, params=params))
    text = report(corpus, rounds, bare, loads)
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
