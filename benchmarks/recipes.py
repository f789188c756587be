"""What the engine costs beside a bare PyTorch loop and the Hugging Face ``Trainer``, recipe by recipe.

The built-in corpus, the models of the ``demo`` presets and models some times
larger.  The engine is the real one: the recipe's task, its batches, every step
reported into a real spool.  The bare loop gets the very batches ready made and
does nothing but forward, backward, clipping and the update; the ``Trainer``
gets them ready made as well and reports as it does by itself, a line every 500
steps, without bars.  All begin with the same weights, have no dropout and a
constant learning rate, and take their turns in one process.

A step lasts from one asking for a batch to the next.  The losses are compared,
too: where they differ, the figures are worthless, and the exit code is 1.

Run: ``python -m benchmarks.recipes [--rounds 5] [--steps 18] [--only causal_lm] [--output FILE]``
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import torch
import transformers

from benchmarks.recipe_contenders import MAKERS
from benchmarks.recipe_sides import Contender, Timed, bare, engine, hugging_face
from benchmarks.server_process import machine
from benchmarks.spread import spread
from trainer.datasets import labelled_docs, python_docs

SIZES = ("demo", "larger")
WARM_UP = 3  # steps that are not counted
TOLERANCE = 2e-4  # of a loss: sums are taken in different orders
GOALS = {"bare": 0.95, "hugging_face": 1.0}
NAMES = {"bare": "bare loop", "hugging_face": "`Trainer`"}
Side = Callable[..., Timed]


@dataclass
class Rounds:
    """What all sides of one recipe and size did, round by round."""

    name: str
    weights: int
    of: dict[str, list[Timed]] = field(default_factory=dict)

    def rates(self, side: str) -> list[float]:
        """Steps per second of each round."""
        return [len(one.wall_s[WARM_UP:]) / sum(one.wall_s[WARM_UP:]) for one in self.of[side]]

    def ratios(self, side: str) -> list[float]:
        """How many times as fast the engine was in each round."""
        return [ours / theirs for ours, theirs in zip(self.rates("engine"), self.rates(side), strict=True)]

    def best_ratio(self, side: str) -> float:
        """The same with each step as fast as it ever was: what other work on the machine cannot disturb."""
        ours, theirs = (
            sum(min(steps) for steps in zip(*(one.wall_s[WARM_UP:] for one in self.of[name]), strict=True))
            for name in ("engine", side)
        )
        return float(theirs / ours)

    def cpu_ratio(self, side: str) -> float:
        """CPU seconds of the engine's steps by those of ``side``, each step at its cheapest."""
        ours, theirs = (
            sum(min(steps) for steps in zip(*(one.cpu_s[WARM_UP:] for one in self.of[name]), strict=True))
            for name in ("engine", side)
        )
        return float(ours / theirs)

    def largest_difference(self, side: str) -> float:
        """Of the losses of ``side`` from those of the engine, at any step of any round."""
        pairs = zip(self.of["engine"], self.of[side], strict=True)
        return max(abs(a - b) for one, two in pairs for a, b in zip(one.losses, two.losses, strict=True))


def sides_of(contender: Contender) -> dict[str, Side]:
    """Who takes part: the ``Trainer`` only where it knows the loss."""
    sides: dict[str, Side] = {"engine": engine, "bare": bare}
    if contender.model(contender.task()) is not None:
        sides["hugging_face"] = hugging_face
    return sides


def measure(only: str | None, datasets_dir: Path, *, rounds: int, num_steps: int) -> Iterator[Rounds]:
    """Every recipe at every size."""
    python_docs.load(datasets_dir, lambda detail, fraction: None)
    labelled_docs.load(datasets_dir, lambda detail, fraction: None)
    for recipe, make in MAKERS.items():
        for size in SIZES if only in (None, recipe) else ():
            contender = make(size, datasets_dir)
            modules = contender.task().modules().values()
            weights = sum(one.numel() for module in modules for one in module.parameters())
            found = Rounds(f"{recipe}, {size}", weights)
            sides = list(sides_of(contender).items())
            for number in range(rounds):
                print(f"{found.name}, round {number + 1} of {rounds}", file=sys.stderr, flush=True)
                for name, side in sides[number % len(sides) :] + sides[: number % len(sides)]:
                    found.of.setdefault(name, []).append(side(contender, num_steps=num_steps))
            yield found


def report(found: list[Rounds], *, load: float) -> str:
    """The result as Markdown."""
    rounds, steps = len(found[0].of["engine"]), len(found[0].of["bare"][0].wall_s) - WARM_UP
    lines = [
        f"# Steps of every recipe, {date.today()}",
        "",
        f"Built-in corpus, {rounds} rounds of {steps} steps by turns after {WARM_UP} to warm up; "
        "median (min..max) over the rounds. torch "
        f"{torch.__version__} with {torch.get_num_threads()} threads, transformers "
        f"{transformers.__version__}. Load average before: {load:.1f}"
        f"{' (busy: wall-clock figures of single rounds say little)' if load > 2.5 else ''}. {machine()}",
        "",
        "| recipe, model | weights | steps/s, engine | steps/s, bare loop | steps/s, `Trainer` |",
        "|---|---|---|---|---|",
    ]
    for one in found:
        rates = [spread(one.rates(side)) if side in one.of else "" for side in ("engine", *GOALS)]
        lines.append(f"| {one.name} | {one.weights / 1e6:.1f} M | {' | '.join(rates)} |")
    lines += [
        "",
        "How many times as fast the engine is; `fastest`: each step as fast as in its fastest round; `CPU`: "
        "CPU time of the engine's steps by the other's; `losses`: the largest difference at any step, nats.",
        "",
        "| recipe, model | engine by | of a round | fastest | to reach | CPU | losses |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in found:
        lines += [
            f"| {one.name} | {NAMES[side]} | {spread(one.ratios(side), 2)} | {one.best_ratio(side):.2f} | "
            f">= {goal:.2f} | {one.cpu_ratio(side):.2f} | {one.largest_difference(side):.1e} |"
            for side, goal in GOALS.items()
            if side in one.of
        ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, print, and write to a file when asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=18)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", choices=list(MAKERS), help="one recipe")
    parser.add_argument("--datasets", type=Path, help="a folder with the corpus, instead of building it")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        datasets_dir = chosen.datasets or Path(folder)
        found = list(measure(chosen.only, datasets_dir, rounds=chosen.rounds, num_steps=chosen.steps))
    text = report(found, load=load)
    print(text)
    if chosen.output:
        chosen.output.write_text(text)
    different = [
        f"{one.name}: {NAMES[side]}" for one in found for side in GOALS
        if side in one.of and not one.largest_difference(side) <= TOLERANCE
    ]  # fmt: skip
    if different:
        print(f"the losses differ: {'; '.join(different)}", file=sys.stderr)
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
