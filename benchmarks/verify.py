"""How long a rehearsal takes, and what a preflight adds before a start; the corpus is built first.

The reference of the preflight is an interpreter that only starts.  Run:
``python -m benchmarks.verify [--rounds 3] [--instance DIR]``
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from trainer.datasets import python_docs

PREFLIGHT = ["preflight", "two_tower", "--dataset", python_docs.NAME, "--json"]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--instance", type=Path, help="with a corpus in it; default: a new one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        instance = (arguments.instance or Path(folder)).resolve()
        python_docs.load(instance / "datasets", lambda _detail, _fraction: None)
        measure(instance, rounds=arguments.rounds)


def measure(instance: Path, *, rounds: int) -> None:
    """Both, by turns."""
    verify_s: list[float] = []
    cpu_s: list[float] = []
    preflight_s: list[float] = []
    start_s: list[float] = []
    loads = []
    for _ in range(rounds):
        loads.append(os.getloadavg()[0])
        before = children_s()
        verify_s.append(timed(["verify", "--json"], instance))
        cpu_s.append(children_s() - before)
        preflight_s.append(timed(PREFLIGHT, instance))
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        start_s.append(time.monotonic() - began)
    print(f"# Rehearsal and preflight, {date.today()}\n")
    print(
        f"{rounds} rounds, corpus kept. {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, "
        f"Python {platform.python_version()}. Load average before each round: "
        f"{', '.join(f'{load:.1f}' for load in loads)}; figures of a busy machine are upper bounds.\n"
    )
    print("| what | median (min..max) | to reach |\n|---|---|---|")
    print(f"| `verify`, s | {shown(verify_s)} | < 30 |")
    print(f"| the same, CPU seconds of all its processes | {shown(cpu_s)} |  |")
    print(f"| `preflight` of the demo, s | {shown(preflight_s)} | about 1 |")
    print(f"| an interpreter that only starts, s | {shown(start_s)} |  |")


def children_s() -> float:
    """CPU seconds of all processes started and collected so far, and of theirs."""
    times = os.times()
    return times.children_user + times.children_system


def timed(words: Sequence[str], instance: Path) -> float:
    """Seconds of one command, which must succeed."""
    command = [sys.executable, "-m", "trainer", *words, "--instance", str(instance)]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took_s = time.monotonic() - began
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert json.loads(done.stdout.splitlines()[-1])["verdict"] != "problem"
    return took_s


def shown(values: Sequence[float]) -> str:
    """``median (min..max)``."""
    return f"{statistics.median(values):.2f} ({min(values):.2f}..{max(values):.2f})"


if __name__ == "__main__":
    main()
