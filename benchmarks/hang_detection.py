"""How long a hang goes unnoticed, per kind, with the limits a run has by default once its pace is known.

Each trainer makes seven steps of a known length (and three evaluations where that is what hangs), notes
the time and hangs.  The delay ends with the ``stall`` event in the supervisor's spool.  All kinds run
side by side; three of them compute.

Run: ``python -m benchmarks.hang_detection [--rounds 3] [--steps 0.2 3] [--output FILE]``
"""

from __future__ import annotations

import argparse
import signal
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.paced_trainers import HANGS, start, told
from benchmarks.server_process import machine

EXPECTED = {kind: kind.replace("_", "-") for kind in HANGS} | {
    "deadlocked_holding_the_interpreter": "deadlocked"
}
TIMEOUT_S = 90.0
LOOK_EVERY_S = 0.05


def one_round(folder: Path, *, step_s: float) -> dict[str, tuple[float, str]]:
    """Delay in seconds and verdict, per kind."""
    children = {kind: start(folder / kind, kind, step_s=step_s) for kind in HANGS}
    found: dict[str, tuple[float, str]] = {}
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while len(found) < len(children) and time.monotonic() < deadline:
            for kind, (paths, _) in children.items():
                stalls = told(paths, "stall") if kind not in found else []
                if stalls:
                    delay_s = time.monotonic() - float((paths.root / "hung_at").read_text())
                    found[kind] = (delay_s, str(stalls[0]["verdict"]))
            time.sleep(LOOK_EVERY_S)
    finally:
        for _, supervisor in children.values():
            supervisor.send_signal(signal.SIGQUIT)
        for _, supervisor in children.values():
            supervisor.wait(30)
    return found


def report(found: dict[float, list[dict[str, tuple[float, str]]]]) -> str:
    """The result as Markdown."""
    lines = [
        f"# How long a hang goes unnoticed, {time.strftime('%Y-%m-%d')}",
        "",
        f"Seconds from the hang to the verdict: median (min..max). {machine()}",
        "",
        "| kind | length of a step | delay | to reach | verdicts |",
        "|---|---|---|---|---|",
    ]
    for step_s, rounds in found.items():
        goal_s = max(10.0, 5.0 * step_s) + 1.0
        for kind in HANGS:
            seen = [one[kind] for one in rounds if kind in one]
            delays = [delay_s for delay_s, _ in seen]
            right = sum(verdict == EXPECTED[kind] for _, verdict in seen)
            spread = (
                f"{statistics.median(delays):.1f} ({min(delays):.1f}..{max(delays):.1f}) s"
                if delays
                else "never"
            )
            name = kind.replace("_", " ")
            lines.append(
                f"| {name} | {step_s:g} s | {spread} | <= {goal_s:g} s | {right} of {len(rounds)} right |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print Markdown, and write it to a file when asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=float, nargs="+", default=[0.2, 3.0], help="lengths of a step, s")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    found: dict[float, list[dict[str, tuple[float, str]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for step_s in chosen.steps:
            found[step_s] = [
                one_round(Path(folder) / f"{step_s:g}-{number}", step_s=step_s)
                for number in range(chosen.rounds)
            ]
    text = report(found)
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
