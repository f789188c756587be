"""How OpenMP's waiting threads should wait: the speed of a training on a quiet machine and on a crowded one.

Between two parallel loops the threads of libgomp spin, sleep, or spin a little and sleep then.  Spinning
is fastest while every thread has a core; beside others it takes the core from whoever has work to do.
Every round trains the same steps of a two-tower model once with each way of waiting, in random order,
beside as many busy processes as asked for; ratios are to the runtime's own default in the same round.

Run: ``python -m benchmarks.thread_waiting [--rounds 5] [--steps 150] [--busy 0 1 2] [--output FILE]``
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.server_process import machine
from benchmarks.spread import spread
from benchmarks.supervision_cost import rate
from tests.e2e.corpus import write_corpus

DEFAULT: Final = "default"
WAYS: Final[dict[str, dict[str, str]]] = {
    DEFAULT: {},
    "OMP_WAIT_POLICY=PASSIVE": {"OMP_WAIT_POLICY": "PASSIVE"},
    "GOMP_SPINCOUNT=1000": {"GOMP_SPINCOUNT": "1000"},
    "GOMP_SPINCOUNT=2000": {"GOMP_SPINCOUNT": "2000"},
    "GOMP_SPINCOUNT=4000": {"GOMP_SPINCOUNT": "4000"},
    "GOMP_SPINCOUNT=8000": {"GOMP_SPINCOUNT": "8000"},
}
_BUSY_S: Final = 120
_BUSY: Final = f"import time\nend = time.monotonic() + {_BUSY_S}\nwhile time.monotonic() < end: pass"


@contextmanager
def busy_machine(num_busy: int) -> Iterator[None]:
    """So many other processes that never wait; each ends by itself after two minutes."""
    others = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(num_busy)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@contextmanager
def environment(changes: Mapping[str, str]) -> Iterator[None]:
    """This process's environment with the changes, for what it starts meanwhile."""
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def measure(folder: Path, *, num_busy: int, rounds: int, num_steps: int) -> dict[str, list[float]]:
    """Steps per second of each way in each round."""
    corpus = write_corpus(folder / "stdlib.jsonl")
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    shuffle = random.Random(0).sample
    for number in range(rounds):
        for way in shuffle(sorted(WAYS), len(WAYS)):
            with busy_machine(num_busy), environment(WAYS[way]):
                name = f"{num_busy}-{number}-{len(rates[way])}-{sorted(WAYS).index(way)}"
                rates[way].append(rate(folder, corpus, name, "trainer.engine", num_steps=num_steps))
    return rates


def rows(num_busy: int, rates: Mapping[str, list[float]]) -> Iterator[str]:
    """One line of the table per way of waiting."""
    for way, found in rates.items():
        ratios = [one / default for one, default in zip(found, rates[DEFAULT], strict=True)]
        yield f"| {num_busy} | {way} | {spread(found, 1)} | {spread(ratios, 2)} |"


def main() -> None:
    """Measure, print Markdown, and write it to a file when asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=150, help="of each training")
    parser.add_argument(
        "--busy", type=int, nargs="+", default=[0, 1, 2], help="other processes that never wait"
    )
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    lines = [
        f"# How waiting threads should wait, {time.strftime('%Y-%m-%d')}",
        "",
        f"{chosen.rounds} rounds of {chosen.steps} steps per way; median (min..max); ratios to the runtime's "
        f"default in the same round. {machine()}",
        "",
        "| busy processes beside it | way of waiting | steps/s | ratio |",
        "|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for num_busy in chosen.busy:
            root = Path(folder) / str(num_busy)
            root.mkdir()
            rates = measure(root, num_busy=num_busy, rounds=chosen.rounds, num_steps=chosen.steps)
            lines += rows(num_busy, rates)
    text = "\n".join(lines) + "\n"
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
