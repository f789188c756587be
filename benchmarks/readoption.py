"""How long until three live runs are taken up again after the dashboard was killed.

Three runs train; the server and its worker get SIGKILL and are started anew.
A run counts as taken up when the new server shows it running, in the same attempt
and with the same trainer process, *and* has stored progress that was reported
after the kill.  Measured from the spawn of the new server, so its own start is
part of it, and from its first answer.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.server_process import machine
from benchmarks.spread import spread
from tests.e2e.corpus import write_corpus
from tests.e2e.dashboard import Dashboard
from tests.waiting import wait_for

NUM_RUNS = 3
REPEATS = 7
GOAL_S = 5.0


@dataclass(frozen=True)
class Restart:
    """One kill and restart: seconds from the spawn to the first answer, and to each run taken up again."""

    answer_s: float
    adopted_s: list[float]


def restart(dashboard: Dashboard, run_ids: list[str]) -> Restart:
    """Kill the server, start it again, and wait for every run."""
    trainers = {run_id: dashboard.trainer_pid(run_id) for run_id in run_ids}
    attempts = {run_id: dashboard.run(run_id)["attempt"] for run_id in run_ids}
    dashboard.kill_server()
    killed_at = time.time()
    begun = time.perf_counter()
    dashboard.start()
    answer_s = time.perf_counter() - begun
    adopted: dict[str, float] = {}

    def look() -> bool:
        for run_id in run_ids:
            run = dashboard.run(run_id)
            is_fresh = (run["progress_at"] or 0) > killed_at
            if run_id not in adopted and run["state"] == "running" and is_fresh:
                adopted[run_id] = time.perf_counter() - begun
        return len(adopted) == len(run_ids)

    wait_for(look, what="taking up", timeout_s=60)
    for run_id in run_ids:
        if (
            dashboard.trainer_pid(run_id) != trainers[run_id]
            or dashboard.run(run_id)["attempt"] != attempts[run_id]
        ):
            raise SystemExit(f"run {run_id} was started anew instead of taken up")
    return Restart(answer_s, sorted(adopted.values()))


def measure() -> list[Restart]:
    """Train three runs, and kill the dashboard above them again and again."""
    with tempfile.TemporaryDirectory() as folder:
        instance = Path(folder) / "instance"
        write_corpus(instance / "datasets" / "stdlib.jsonl")
        dashboard = Dashboard(instance, max_runs=NUM_RUNS)
        try:
            dashboard.start()
            run_ids = [dashboard.create_run("stdlib.jsonl", name=f"run {n}") for n in range(NUM_RUNS)]
            for run_id in run_ids:
                dashboard.wait_for_step(run_id, 20, timeout_s=120)
            return [restart(dashboard, run_ids) for _ in range(REPEATS)]
        finally:
            dashboard.close()


def main() -> int:
    """Measure and print."""
    restarts = measure()
    last = [max(one.adopted_s) for one in restarts]
    in_time = sum(seconds <= GOAL_S for one in restarts for seconds in one.adopted_s)
    total = NUM_RUNS * len(restarts)
    print(f"# Re-adoption, {time.strftime('%Y-%m-%d')}\n")
    print(
        f"{NUM_RUNS} live runs, {REPEATS} times SIGKILL for the dashboard; median (min..max). {machine()}\n"
    )
    print("| what | measured | goal |\n|---|---|---|")
    print(f"| spawn to first answer, s | {spread([one.answer_s for one in restarts], 2)} | none |")
    first = spread([min(one.adopted_s) for one in restarts], 2)
    print(f"| spawn to the first run taken up, s | {first} | none |")
    print(f"| spawn to all {NUM_RUNS} runs taken up, s | {spread(last, 2)} | <= {GOAL_S:g} |")
    after = [max(one.adopted_s) - one.answer_s for one in restarts]
    print(f"| first answer to all {NUM_RUNS} runs taken up, s | {spread(after, 2)} | none |")
    print(f"| runs taken up within {GOAL_S:g} s | {in_time} of {total} | {total} of {total} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
