"""From ``log()`` in a trainer to readable through the API: 100,000 points, beside raw SQLite.

Everything is real and a process of its own: the dashboard (``wsgi.py``), the
supervisor with its websocket, the trainer that calls ``Reporter.metrics``.  The
clock starts with the first call (its time is the first point's) and stops when
the API returns the last point; by then it is committed with synchronous=FULL.

The reference, in the same run and by turns, is ``sqlite3.executemany`` of the
same numbers in 1,000-row transactions with synchronous=FULL.

Run: ``python -m benchmarks.end_to_end_ingest [--points 100000] [--repeats 5] [--output FILE]``
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from sqlalchemy.orm import Session

from app.services.access import issue_run_token
from app.services.queue import write_uplink
from benchmarks.server_process import ROOT, ServerProcess, add_run, machine
from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.supervisor.supervise import supervise
from trainer.telemetry.reporter import Reporter

SHAPES = {"one scalar per call": 1, "five scalars per call": 5}
COMMIT_ROWS = 1000
LOOK_EVERY_S = 0.02
TIMEOUT_S = 120.0


def metric_name(index: int) -> str:
    """The name of the index-th scalar of a call."""
    return f"train/metric_{index}"


def log_points(run_dir: Path, *, attempt: int, num_calls: int, num_scalars: int) -> None:
    """The trainer: call the Reporter as fast as it goes, over values made before."""
    rows = [
        {metric_name(index): 1.0 / (step + index + 1.3) for index in range(num_scalars)}
        for step in range(num_calls)
    ]
    reporter = Reporter(RunPaths(run_dir), attempt=attempt)
    for step, values in enumerate(rows):
        reporter.metrics(step, values)
    reporter.close()


def supervise_logging(run_dir: Path, *, num_calls: int, num_scalars: int) -> None:
    """The supervisor: the real one, over the trainer above."""
    shape = ["--calls", str(num_calls), "--scalars", str(num_scalars)]

    def command(root: Path | str, attempt: int) -> list[str]:
        module = [sys.executable, "-m", "benchmarks.end_to_end_ingest"]
        return [*module, "--log", str(root), "--attempt", str(attempt), *shape]

    supervise(RunPaths(run_dir), make_command=command)


def ours(server: ServerProcess, run_id: str, *, num_calls: int, num_scalars: int) -> float:
    """Points per second from the first call to the last point in an answer of the API."""
    arguments = ["--supervise", str(server.settings.runs_dir / run_id)]
    shape = ["--calls", str(num_calls), "--scalars", str(num_scalars)]
    with (server.settings.runs_dir / run_id / "supervisor.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.end_to_end_ingest", *arguments, *shape],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    path = f"/api/runs/{run_id}/metrics/{quote(metric_name(num_scalars - 1))}"
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            found = server.get(f"/api/runs/{run_id}/metrics")["metrics"]
            counts = [one["total_points"] for one in found if one["name"].startswith("train/")]
            if counts == [num_calls] * num_scalars:
                break
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {TIMEOUT_S:g} s only {counts} points")
            time.sleep(LOOK_EVERY_S)
        last = server.get(f"{path}?after={num_calls - 1}")
        readable_at = time.time()
        assert last["steps"] == [num_calls - 1], last
        first_call_at: float = server.get(path)["times"][0]
    finally:
        process.wait(60)
    return num_calls * num_scalars / (readable_at - first_call_at)


def raw(folder: Path, *, num_calls: int, num_scalars: int) -> float:
    """Rows per second of ``executemany`` in 1,000-row FULL commits."""
    rows = [
        (index, step, 1.7e9 + step, 1.0 / (step + index + 1.3))
        for step in range(num_calls)
        for index in range(num_scalars)
    ]
    path = folder / "raw.db"
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute(
        "CREATE TABLE points (series INT, step INT, t REAL, v REAL, PRIMARY KEY (series, step)) WITHOUT ROWID"
    )
    began = time.perf_counter()
    for start in range(0, len(rows), COMMIT_ROWS):
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO points VALUES (?, ?, ?, ?)", rows[start : start + COMMIT_ROWS])
        database.execute("COMMIT")
    seconds = time.perf_counter() - began
    database.close()
    path.unlink()
    return len(rows) / seconds


def prepare_run(server: ServerProcess, name: str) -> str:
    """A run with its folder, as the queue would leave it for the supervisor."""

    def work(session: Session) -> tuple[str, str]:
        run_id = add_run(session, name)
        return run_id, issue_run_token(session, run_id)

    run_id, token = server.prepare(work)
    paths = RunPaths(server.settings.runs_dir / run_id)
    paths.root.mkdir(parents=True)
    spec = RunSpec(
        run_id, name, "two_tower", "python_docs", {}, time.time(), str(server.settings.datasets_dir)
    )
    spec.save(paths)
    write_atomic(paths.token, token.encode(), mode=0o600)
    write_uplink(paths, server.settings.base_url)
    return run_id


def measure(folder: Path, *, num_points: int, repeats: int) -> dict[str, dict[str, list[float]]]:
    """Points per second by shape and way, one figure per repeat, by turns."""
    server = ServerProcess(folder / "instance")
    prepared = {
        shape: [prepare_run(server, f"{shape} {number}") for number in range(repeats)] for shape in SHAPES
    }
    server.start()
    found: dict[str, dict[str, list[float]]] = {shape: {"signalbox": [], "raw": []} for shape in SHAPES}
    try:
        for repeat in range(repeats):
            for shape, num_scalars in SHAPES.items():
                counts = {"num_calls": num_points // num_scalars, "num_scalars": num_scalars}
                found[shape]["raw"].append(raw(folder, **counts))
                found[shape]["signalbox"].append(ours(server, prepared[shape][repeat], **counts))
    finally:
        server.close()
    return found


def report(found: dict[str, dict[str, list[float]]], *, num_points: int, repeats: int) -> str:
    """The result as Markdown."""
    lines = [
        f"# From log() to the API, {time.strftime('%Y-%m-%d')}",
        "",
        f"{num_points:,} points, {repeats} repeats by turns, thousand points per second: median (min..max). "
        f"{machine()}",
        "",
        "| shape | Signalbox: websocket, FULL, readable | raw executemany, FULL | ratio | target |",
        "|---|---|---|---|---|",
    ]
    targets = {1: ">= 75 k points/s", 5: ">= 1x raw"}
    for shape, ways in found.items():
        ratios = [a / b for a, b in zip(ways["signalbox"], ways["raw"], strict=True)]
        cells = [_spread(ways["signalbox"], 1e3), _spread(ways["raw"], 1e3), _spread(ratios, 1.0)]
        lines.append(f"| {shape} | {' | '.join(cells)} | {targets[SHAPES[shape]]} |")
    return "\n".join(lines) + "\n"


def _spread(values: list[float], unit: float) -> str:
    scaled = [value / unit for value in values]
    return f"{statistics.median(scaled):.2f} ({min(scaled):.2f}..{max(scaled):.2f})"


def main() -> None:
    """Measure, print Markdown, and write it to a file when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--supervise", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--attempt", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--calls", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--scalars", type=int, default=1, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.log is not None:
        log_points(chosen.log, attempt=chosen.attempt, num_calls=chosen.calls, num_scalars=chosen.scalars)
        return
    if chosen.supervise is not None:
        supervise_logging(chosen.supervise, num_calls=chosen.calls, num_scalars=chosen.scalars)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), num_points=chosen.points, repeats=chosen.repeats)
    text = report(found, num_points=chosen.points, repeats=chosen.repeats)
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
