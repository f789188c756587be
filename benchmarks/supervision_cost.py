"""What supervision costs, and how soon a death is known: memory, CPU, throughput, time to ``failed``.

1. A real dashboard, a real supervisor and a real two-tower trainer: resident and unique memory of the
   supervisor and the share of a core it uses, while the training runs at full speed.
2. From SIGABRT to the trainer to the moment when the API of that dashboard shows the run ``failed``
   with its finding.
3. Steps per second of ``python -m trainer.engine`` started bare, with this shell's environment, and
   of the same steps under ``python -m trainer supervise`` with the hardened environment, by turns.

Run: ``python -m benchmarks.supervision_cost [--rounds 4] [--deaths 5] [--seconds 20] [--output FILE]``
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.server_process import ROOT, machine
from benchmarks.spread import spread
from tests.e2e.corpus import write_corpus
from tests.e2e.dashboard import Dashboard
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths, RunSpec, segments
from trainer.recipes.registry import recipes, validate

WARM_UP_STEPS = 20
NEVER = 1_000_000
TIMEOUT_S = 120.0


@dataclass
class Figures:
    """Everything measured; seconds, bytes, percent of one core, steps per second."""

    rss_bytes: list[float] = field(default_factory=list)
    uss_bytes: list[float] = field(default_factory=list)
    cpu_percent: float = 0.0
    death_to_finding_s: list[float] = field(default_factory=list)
    bare_rate: list[float] = field(default_factory=list)
    supervised_rate: list[float] = field(default_factory=list)


def params(max_steps: int) -> dict[str, Any]:
    """Steps of a realistic size, and nothing but steps."""
    changes = {
        "batch_size": 128, "num_buckets": 65_536, "dim": 128, "hidden_dim": 128, "num_epochs": 10_000,
        "max_steps": max_steps, "eval_every": NEVER, "checkpoint_every": NEVER, "snapshot_budget": 0.0,
        "num_probes": 1, "device": "cpu",
    }  # fmt: skip
    return validate(recipes()["two_tower"], changes)


def new_run(root: Path, corpus: Path, *, max_steps: int) -> RunPaths:
    """A run folder with its spec; it is never retried."""
    root.mkdir(parents=True)
    paths = RunPaths(root)
    RunSpec(
        root.name, "a run", "two_tower", str(corpus), params(max_steps), time.time(), str(root.parent),
        policy={"max_attempts": 1},
    ).save(paths)  # fmt: skip
    return paths


def start(paths: RunPaths, *arguments: str) -> subprocess.Popen[bytes]:
    """``python -m ARGUMENTS RUN_DIR``, its output in a file."""
    with paths.supervisor_log.open("ab") as log:
        command = [sys.executable, "-m", *arguments, str(paths.root)]
        return subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )


def wait_for(look: Callable[[], Any], what: str, *, every_s: float = 0.02) -> Any:
    """What ``look`` answers as soon as it is true.

    Raises:
        TimeoutError: it never was.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} within {TIMEOUT_S:g} s")
        time.sleep(every_s)
    return found


def step_times(paths: RunPaths) -> list[float]:
    """When each step was reported."""
    lines = [
        line for part in segments(paths.spool(Stream.TRAINER)) for line in part.read_bytes().split(b"\n")
    ]
    events = [json.loads(line) for line in lines if b'"train/loss"' in line and line.endswith(b"}")]
    return [event["t"] for event in events]


def queue_run(dashboard: Dashboard) -> RunPaths:
    """Let the dashboard start an endless run; returns when it trains."""
    body = {
        "recipe": "two_tower", "dataset": "stdlib.jsonl", "name": "a run", "params": params(NEVER),
        "policy": {"max_attempts": 1},
    }  # fmt: skip
    answer = dashboard.request("POST", "/api/runs", body)
    if answer.status != 201:
        raise RuntimeError(f"the run was refused: {answer.body}")
    paths = dashboard.paths(str(answer.body["id"]))
    wait_for(lambda: len(step_times(paths)) > WARM_UP_STEPS, "steps", every_s=0.5)
    return paths


def measure_supervisor(dashboard: Dashboard, figures: Figures, *, seconds: float) -> None:
    """Memory and CPU of one supervisor at work."""
    run_id = queue_run(dashboard).root.name
    process = psutil.Process(dashboard.supervisor_pid(run_id))
    before, began = process.cpu_times(), time.monotonic()
    while time.monotonic() - began < seconds:
        time.sleep(1.0)
        memory = process.memory_full_info()
        figures.rss_bytes.append(float(memory.rss))
        figures.uss_bytes.append(float(memory.uss))
    after, elapsed_s = process.cpu_times(), time.monotonic() - began
    used_s = after.user + after.system - before.user - before.system
    figures.cpu_percent = 100.0 * used_s / elapsed_s
    dashboard.order(run_id, "kill")
    dashboard.wait_for_state(run_id, "stopped")


def measure_death(dashboard: Dashboard, figures: Figures) -> None:
    """From the signal to the finding in the API."""
    paths = queue_run(dashboard)
    pid = int(json.loads((paths.attempt(1) / "process.json").read_text())["pid"])
    died_at = time.monotonic()
    os.kill(pid, signal.SIGABRT)

    def is_explained() -> bool:
        path = f"/api/runs/{paths.root.name}"
        return dashboard.get(path)["state"] == "failed" and bool(
            dashboard.get(f"{path}/findings")["findings"]
        )

    wait_for(is_explained, "finding")
    figures.death_to_finding_s.append(time.monotonic() - died_at)


def rate(folder: Path, corpus: Path, name: str, *arguments: str, num_steps: int) -> float:
    """Steps per second of a whole training, without its first steps."""
    paths = new_run(folder / name, corpus, max_steps=num_steps)
    code = start(paths, *arguments).wait(TIMEOUT_S)
    times = step_times(paths)[WARM_UP_STEPS:]
    if code != 0 or len(times) < 2:
        raise RuntimeError(paths.supervisor_log.read_text())
    return (len(times) - 1) / (times[-1] - times[0])


def measure_rates(folder: Path, corpus: Path, figures: Figures, *, rounds: int, num_steps: int) -> None:
    """Both ways by turns."""
    sides = [(figures.bare_rate, ("trainer.engine",)), (figures.supervised_rate, ("trainer", "supervise"))]
    for number in range(rounds):
        for rates, arguments in sides if number % 2 == 0 else reversed(sides):
            name = f"{arguments[-1]}-{number}"
            rates.append(rate(folder, corpus, name, *arguments, num_steps=num_steps))


def measure(folder: Path, *, rounds: int, deaths: int, seconds: float, num_steps: int) -> Figures:
    """All three questions."""
    figures, instance = Figures(), folder / "instance"
    (instance / "inbox").mkdir(parents=True)
    corpus = write_corpus(instance / "inbox" / "stdlib.jsonl")
    dashboard = Dashboard(instance)
    dashboard.start()
    try:
        measure_supervisor(dashboard, figures, seconds=seconds)
        for _ in range(deaths):
            measure_death(dashboard, figures)
    finally:
        dashboard.close()
    measure_rates(folder, corpus, figures, rounds=rounds, num_steps=num_steps)
    return figures


def report(figures: Figures) -> str:
    """The result as Markdown."""
    rss, uss = ([value / 2**20 for value in one] for one in (figures.rss_bytes, figures.uss_bytes))
    pairs = zip(figures.supervised_rate, figures.bare_rate, strict=True)
    costs = [100.0 * (1.0 - supervised / bare) for supervised, bare in pairs]
    best = 100.0 * (1.0 - max(figures.supervised_rate) / max(figures.bare_rate))
    rows = [
        ("supervisor, resident memory", f"{spread(rss)} MiB", "<= 40 MB"),
        ("of it not shared with others", f"{spread(uss)} MiB", ""),
        ("supervisor, CPU beside a training", f"{figures.cpu_percent:.2f} % of a core", "<= 1 %"),
        ("death to `failed` with its finding", f"{spread(figures.death_to_finding_s, 2)} s", "<= 2 s"),
        ("steps/s, bare", spread(figures.bare_rate), ""),
        ("steps/s, hardened and supervised", spread(figures.supervised_rate), ""),
        ("throughput cost", f"{spread(costs)} %; of the best rounds {best:.1f} %", "<= 1 %"),
    ]
    lines = [
        f"# What supervision costs, {time.strftime('%Y-%m-%d')}",
        "",
        f"{len(figures.bare_rate)} rounds by turns, {len(figures.death_to_finding_s)} deaths; "
        f"median (min..max). {machine()}",
        "",
        "| what | measured | to reach |",
        "|---|---|---|",
        *(f"| {what} | {measured} | {goal} |" for what, measured, goal in rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print Markdown, and write it to a file when asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--deaths", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--steps", type=int, default=300, help="of each round")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(
            Path(folder),
            rounds=chosen.rounds,
            deaths=chosen.deaths,
            seconds=chosen.seconds,
            num_steps=chosen.steps,
        )
    text = report(figures)
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
