"""What taking snapshots costs a training: each recipe's ``demo`` preset to its end, with and without them.

A trainer process of its own on the built-in corpus. The cost of each snapshot
is what the trainer reports, asking, packing and writing together; its share is
of the time from the first loss to the end. The reference, by turns with it, is
the same run that takes none but the first and the last: its time per step says
from outside what the others cost.

Run: ``python -m benchmarks.evolution_capture [--rounds 3] [--recipe R] [--max-steps N] [--output FILE]``
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from benchmarks.server_process import ROOT, machine
from benchmarks.spread import spread
from tests.e2e.spool import spooled_events
from trainer.datasets import labelled_docs, python_docs
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes, validate

TIMEOUT_S: Final = 1_800
GOAL_SHARE, GOAL_MS = 5.0, 150.0


@dataclass(frozen=True)
class Captured:
    """What one run tells: seconds, and bytes of the files."""

    costs_s: list[float]
    num_skipped: int
    num_probes: int
    training_s: float  # from the first loss to the end
    num_steps: int
    file_bytes: list[int]

    @property
    def share(self) -> float:
        """Percent of the training's time; the snapshot of step 0 lies before its first loss."""
        return 100 * sum(self.costs_s[1:]) / self.training_s

    @property
    def step_ms(self) -> float:
        """Milliseconds per step, everything included."""
        return 1e3 * self.training_s / self.num_steps


def train(folder: Path, recipe: str, datasets_dir: Path, *, max_steps: int, **changes: Any) -> Captured:
    """Train the demo of ``recipe`` to its end in a process of its own.

    Raises:
        RuntimeError: it failed; with the end of what it said.
    """
    demo = next(preset for preset in recipes()[recipe].presets if preset.name == "demo")
    params = {**demo.params, "device": "cpu", **changes}
    if max_steps:
        params["max_steps"] = max_steps
    paths = RunPaths(folder)
    RunSpec(
        run_id=folder.name, name=recipe, recipe=recipe, dataset=python_docs.NAME,
        params=validate(recipes()[recipe], params), created_at=time.time(), datasets_dir=str(datasets_dir),
    ).save(paths)  # fmt: skip
    command = [sys.executable, "-m", "trainer.engine", str(paths.root)]
    environ = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2_000:])
    return _read(paths)


def _read(paths: RunPaths) -> Captured:
    events = spooled_events(paths, Stream.TRAINER)
    losses = [one for one in events if one["type"] == "metrics" and "train/loss" in one["values"]]
    taken = [one for one in events if one["type"] == "snapshot"]
    return Captured(
        costs_s=[one["cost_s"] for one in taken],
        num_skipped=sum(one["type"] == "snapshot_skipped" for one in events),
        num_probes=int(taken[0]["summary"]["total_examples"]),
        training_s=events[-1]["t"] - losses[0]["t"],
        num_steps=losses[-1]["step"] - losses[0]["step"],
        file_bytes=[path.stat().st_size for path in paths.snapshots.glob("step_*")],
    )


def measure(
    folder: Path, recipe: str, *, rounds: int, max_steps: int
) -> tuple[list[Captured], list[Captured]]:
    """The runs with snapshots, and those that took two only."""
    datasets_dir = folder / "datasets"
    python_docs.load(datasets_dir, lambda detail, fraction: None)
    labelled_docs.load(datasets_dir, lambda detail, fraction: None)
    asked, bare = [], []
    for number in range(rounds):
        asked.append(train(folder / f"asked-{number}", recipe, datasets_dir, max_steps=max_steps))
        bare.append(
            train(folder / f"bare-{number}", recipe, datasets_dir, max_steps=max_steps, snapshot_budget=0.0)
        )
    return asked, bare


def report(recipe: str, asked: list[Captured], bare: list[Captured], *, load: float) -> str:
    """The result as Markdown."""
    costs_ms = [1e3 * cost for one in asked for cost in one.costs_s]
    ratios = [one.step_ms / other.step_ms for one, other in zip(asked, bare, strict=True)]
    rows = [
        ("a snapshot, ms", spread(costs_ms, 0), f"<= {GOAL_MS:g}"),
        ("share of the training's time, %", spread([one.share for one in asked], 2), f"<= {GOAL_SHARE:g}"),
        ("a step with snapshots, ms", spread([one.step_ms for one in asked], 2), ""),
        ("a step without (reference), ms", spread([one.step_ms for one in bare], 2), ""),
        ("with / without", spread(ratios, 3), ""),
        ("snapshots taken", spread([len(one.costs_s) for one in asked], 0), ""),
        ("snapshots left out to keep the budget", spread([one.num_skipped for one in asked], 0), ""),
        ("bytes of a snapshot's file", spread([size for one in asked for size in one.file_bytes], 0), ""),
    ]
    lines = [
        f"# What snapshots cost a training, {recipe}, {date.today()}",
        "",
        f"The `demo` preset on {python_docs.NAME}, {asked[0].num_probes} examples, "
        f"{asked[0].num_steps + 1:,} steps, {len(asked)} rounds; median (min..max). "
        f"Load average before: {load:.1f}. {machine()}",
        "",
        "| figure | found | to reach |",
        "|---|---|---|",
        *[f"| {name} | {found} | {goal} |" for name, found, goal in rows],
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write to a file when asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--recipe", default="two_tower", choices=["two_tower", "text_classification", "causal_lm"]
    )
    parser.add_argument("--max-steps", type=int, default=0, help="end sooner; 0: as the preset says")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        asked, bare = measure(Path(folder), chosen.recipe, rounds=chosen.rounds, max_steps=chosen.max_steps)
    text = report(chosen.recipe, asked, bare, load=load)
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
