"""How often a healthy run is called stalled: fifty slow but healthy ones, many at a time, default limits.

Five kinds of slowness: steps of very different lengths, long steps, silent evaluations and checkpoints,
seconds of nothing between quick steps, and steps that need a processor nobody gives them, because
all of them share two.

Run: ``python -m benchmarks.false_verdicts [--runs 50] [--at-a-time 17] [--seconds 40] [--output FILE]``
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.paced_trainers import HEALTHY, start, told
from benchmarks.server_process import machine
from trainer.protocol.run_folder import ExitRecord

STEP_S = 0.4


@dataclass(frozen=True)
class Outcome:
    """One run: its kind, its end, its steps and what was called a stall."""

    kind: str
    state: str
    steps: int
    verdicts: tuple[str, ...]


def one_run(folder: Path, kind: str, *, seconds: float, seed: int) -> Outcome:
    """Let it train to its end."""
    paths, supervisor = start(folder, kind, step_s=STEP_S, seconds=seconds, seed=seed)
    try:
        supervisor.wait(10 * seconds + 60)
    except subprocess.TimeoutExpired:
        supervisor.send_signal(signal.SIGQUIT)
        supervisor.wait(30)
    record = ExitRecord.load(paths)
    stalls = [event for event in told(paths, "stall") if event["what"] == "began"]
    verdicts = tuple(f"{event['verdict']}: {event['text']}" for event in stalls)
    if record is None:
        return Outcome(kind, "lost", 0, verdicts)
    return Outcome(kind, record.state, record.step, verdicts)


def measure(folder: Path, *, num_runs: int, at_a_time: int, seconds: float) -> list[Outcome]:
    """All of them, the kinds by turns."""
    kinds = list(HEALTHY)
    with ThreadPoolExecutor(at_a_time) as pool:
        jobs = [
            pool.submit(one_run, folder / str(n), kinds[n % len(kinds)], seconds=seconds, seed=n)
            for n in range(num_runs)
        ]
        return [job.result() for job in jobs]


def report(found: list[Outcome], *, at_a_time: int, seconds: float, took_s: float) -> str:
    """The result as Markdown."""
    false = [verdict for one in found for verdict in one.verdicts]
    lines = [
        f"# False verdicts, {time.strftime('%Y-%m-%d')}",
        "",
        f"{len(found)} healthy runs of {seconds:g} s, {at_a_time} at a time, {took_s:.0f} s in all. "
        f"{machine()}",
        "",
        "| kind of slowness | runs | finished | steps | false verdicts |",
        "|---|---|---|---|---|",
    ]
    for kind in HEALTHY:
        runs = [one for one in found if one.kind == kind]
        ends = Counter(one.state for one in runs)
        steps, verdicts = sum(one.steps for one in runs), sum(len(one.verdicts) for one in runs)
        name = kind.replace("_", " ")
        lines.append(f"| {name} | {len(runs)} | {ends['finished']} | {steps:,} | {verdicts} |")
    lines += ["", f"False verdicts in all: {len(false)} (to reach: 0).", *(f"- {one}" for one in false)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print Markdown, and write it to a file when asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--at-a-time", type=int, default=17)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(
            Path(folder), num_runs=chosen.runs, at_a_time=chosen.at_a_time, seconds=chosen.seconds
        )
    text = report(found, at_a_time=chosen.at_a_time, seconds=chosen.seconds, took_s=time.monotonic() - began)
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
