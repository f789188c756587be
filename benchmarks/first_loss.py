"""From the click to the first loss: each recipe's ``demo`` preset on the built-in corpus, nothing replaced.

``POST /api/runs`` over HTTP to a real dashboard, which starts a real supervisor,
which starts the trainer; the clock stops when ``train/loss`` stands in the
API.  The corpus is built before, from the installed Python packages.  The
first run on it learns and keeps tokenizer, tokens and hashed words; the run
``again`` finds them.  The phases are those the run reports; CPU seconds, of
all threads, tell what waiting for other work on the machine does not change.

Run: ``python -m benchmarks.first_loss [--rounds 3] [--only causal_lm] [--output FILE]``
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.server_process import machine
from benchmarks.spread import spread
from tests.e2e.dashboard import Dashboard
from tests.e2e.spool import spooled_events
from trainer.datasets import labelled_docs, python_docs
from trainer.protocol.events import Phase, Stream
from trainer.protocol.run_folder import RunPaths
from trainer.recipes.registry import recipes

GOALS: Final = {"two_tower": 6.0, "text_classification": 20.0, "causal_lm": 20.0}
TIMEOUT_S = 300.0
LOOK_EVERY_S = 0.05
PHASES: Final = (  # how the detail of a loading phase begins, and what that is called here
    ("importing", "imports"),
    ("reading", "reading"),
    ("hashing", "hashing words"),
    ("learning a tokenizer", "learning a tokenizer"),
    ("a tokenizer", "writing out, tokenising"),
    ("writing out", "writing out, tokenising"),
    ("tokenising", "writing out, tokenising"),
    ("building", "building the model"),
)
NAMED: Final = {
    Phase.TRAINING.value: "first step",
    Phase.EVALUATING.value: "evaluation before it",
    Phase.SNAPSHOTTING.value: "snapshot before it",
    Phase.MINING.value: "preparing the epoch",
}
LAUNCH, REPORT = "click to the trainer's first word", "loss to the API"


@dataclass(frozen=True)
class FirstLoss:
    """Seconds from the click to the loss in the API, in parts, and CPU seconds until then."""

    wall_s: float
    trainer_cpu_s: float
    others_cpu_s: float  # of the supervisor, which began with the run
    phases: dict[str, float]


def first_loss(dashboard: Dashboard, recipe: str) -> FirstLoss:
    """Start a run, wait for its first loss, end it.

    Raises:
        RuntimeError: the run was refused, or has failed.
        TimeoutError: there was no loss.
    """
    demo = next(preset for preset in recipes()[recipe].presets if preset.name == "demo")
    body = {
        "recipe": recipe, "dataset": python_docs.NAME, "name": recipe,
        "params": {**demo.params, "device": "cpu"}, "policy": {"max_attempts": 1}, "preflight": "require",
    }  # fmt: skip
    clicked = time.time()
    answer = dashboard.request("POST", "/api/runs", body)
    if answer.status != 201:
        raise RuntimeError(f"the run was refused: {answer.body}")
    run_id = str(answer.body["id"])
    while not _has_loss(dashboard, run_id):
        if time.time() - clicked > TIMEOUT_S:
            raise TimeoutError(dashboard.describe(run_id))
        time.sleep(LOOK_EVERY_S)
    seen = time.time()
    trainer_cpu_s = _cpu_s(dashboard.trainer_pid(run_id))
    others_cpu_s = _cpu_s(dashboard.supervisor_pid(run_id))
    dashboard.order(run_id, "kill")
    dashboard.wait_for_state(run_id, "stopped")
    phases = phases_of(dashboard.paths(run_id), clicked=clicked, seen=seen)
    return FirstLoss(seen - clicked, trainer_cpu_s, others_cpu_s, phases)


def _has_loss(dashboard: Dashboard, run_id: str) -> bool:
    listed = dashboard.get(f"/api/runs/{run_id}/metrics")["metrics"]
    if dashboard.run(run_id)["state"] == "failed":
        raise RuntimeError(dashboard.describe(run_id))
    return any(series["name"] == "train/loss" for series in listed)


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def phases_of(paths: RunPaths, *, clicked: float, seen: float) -> dict[str, float]:
    """Seconds by what was being done: an interval belongs to the phase reported at its beginning."""
    found: dict[str, float] = {}
    name, since = LAUNCH, clicked
    for event in spooled_events(paths, Stream.TRAINER):
        found[name] = found.get(name, 0.0) + event["t"] - since
        since = event["t"]
        if event["type"] == "metrics" and "train/loss" in event["values"]:
            found[REPORT] = seen - since
            return found
        name = _named(event) or name
    raise RuntimeError("the API shows a loss that nobody has reported")


def _named(event: dict[str, Any]) -> str | None:
    """What a phase event is called here; None for events that begin no phase."""
    if event["type"] != "phase":
        return None
    if event["name"] in NAMED:
        return NAMED[event["name"]]
    detail = str(event.get("detail", ""))
    return next((name for beginning, name in PHASES if detail.startswith(beginning)), "other loading")


def measure(
    folder: Path, only: str | None, corpus: Path | None, *, rounds: int
) -> dict[str, list[FirstLoss]]:
    """Every recipe, for the first time and again, round by round."""
    instance = folder / "instance"
    datasets_dir = instance / "datasets"
    if corpus is None:
        datasets_dir.mkdir(parents=True)
    else:
        shutil.copytree(corpus, datasets_dir)
    python_docs.load(datasets_dir, lambda detail, fraction: None)
    labelled_docs.load(datasets_dir, lambda detail, fraction: None)
    kept = {"tokens", "tokenizers", "features"}
    found: dict[str, list[FirstLoss]] = {}
    dashboard = Dashboard(instance, max_runs=1)
    dashboard.start()
    try:
        for _ in range(rounds):
            for recipe in [name for name in GOALS if only in (None, name)]:
                for name in kept:
                    shutil.rmtree(datasets_dir / name, ignore_errors=True)
                found.setdefault(recipe, []).append(first_loss(dashboard, recipe))
                found.setdefault(f"{recipe}, again", []).append(first_loss(dashboard, recipe))
    finally:
        dashboard.close()
    return found


def report(found: dict[str, list[FirstLoss]], *, load: float) -> str:
    """The result as Markdown."""
    rounds = len(next(iter(found.values())))
    lines = [
        f"# From the click to the first loss, {date.today()}",
        "",
        f"{rounds} rounds of the `demo` presets on {python_docs.NAME}, built before; median (min..max). "
        f"Load average before: {load:.1f}"
        f"{' (busy: the seconds are upper bounds)' if load > 2.5 else ''}. {machine()}",
        "",
        "| recipe | seconds | to reach | CPU seconds, trainer | CPU seconds, supervisor |",
        "|---|---|---|---|---|",
    ]
    for name, ones in found.items():
        goal = f"<= {GOALS[name]:g}" if name in GOALS else ""
        wall, trainer, others = (
            spread([getattr(one, which) for one in ones], 2)
            for which in ("wall_s", "trainer_cpu_s", "others_cpu_s")
        )
        lines.append(f"| {name} | {wall} | {goal} | {trainer} | {others} |")
    lines += ["", "| recipe | phase | seconds |", "|---|---|---|"]
    for name, ones in found.items():
        phases = dict.fromkeys(phase for one in ones for phase in one.phases)
        lines += [
            f"| {name} | {phase} | {spread([one.phases.get(phase, 0.0) for one in ones], 2)} |"
            for phase in phases
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write to a file when asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=list(GOALS), help="one recipe")
    parser.add_argument("--datasets", type=Path, help="a folder with the corpus, instead of building it")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), chosen.only, chosen.datasets, rounds=chosen.rounds)
    text = report(found, load=load)
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
