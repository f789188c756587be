"""What a chart costs over HTTP: one series of a million points, and a hundred series at once.

The dashboard is a real process; requests go over one kept connection, as a
browser's do, and the clock stops when the whole body is here.  The reference,
in the same run, is the cheapest request there is (``/healthz``): what HTTP,
the gate and the threads cost without any data.

Run: ``python -m benchmarks.api_read [--requests 200] [--output FILE]``
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import tempfile
import time
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy.orm import Session

from app.services.ingest import Ingest
from app.services.live import LiveFeed
from app.store.engine import Store
from benchmarks.server_process import ServerProcess, add_run, machine
from trainer.protocol.batches import Batch, Block
from trainer.protocol.events import Stream

METRIC = "train/loss"
BATCH_POINTS = 4096
NUM_MANY = 100
LONG_POINTS, SHORT_POINTS = 1_000_000, 10_000


def fill(server: ServerProcess, run_ids: list[str], *, num_points: int) -> None:
    """Store a noisy falling curve for each run, the way supervisors' batches arrive."""
    store = Store(server.settings.database_url)
    store.start()
    ingest = Ingest(store, LiveFeed(emit=lambda event, payload, rooms: None, load_run=lambda run_id: None))
    noise = random.Random(1)
    try:
        for run_id in run_ids:
            for first in range(1, num_points + 1, BATCH_POINTS):
                steps = range(first, min(first + BATCH_POINTS, num_points + 1))
                values = [5 * math.exp(-step / num_points) + noise.random() for step in steps]
                times = array("d", (1.7e9 + step * 0.01 for step in steps))
                block = Block(1, [METRIC], array("q", steps), times, [array("d", values)])
                ingest.accept(Batch(run_id, Stream.TRAINER, steps[0], steps[-1], [block]))
    finally:
        store.close()


def milliseconds(ask: Callable[[], bytes], *, num_requests: int) -> tuple[list[float], int]:
    """How long each request took, and how many bytes the last one brought."""
    body = b""
    found = []
    for _ in range(num_requests):
        began = time.perf_counter()
        body = ask()
        found.append((time.perf_counter() - began) * 1e3)
    return found, len(body)


def measure(folder: Path, *, num_requests: int) -> list[tuple[str, list[float], int, str]]:
    """One row per kind of request: name, milliseconds, bytes, target."""
    server = ServerProcess(folder / "instance")

    def work(session: Session) -> list[str]:
        return [add_run(session, f"run {number}") for number in range(1 + NUM_MANY)]

    long_run, *many = server.prepare(work)
    fill(server, [long_run], num_points=LONG_POINTS)
    fill(server, many, num_points=SHORT_POINTS)
    series = f"/api/runs/{long_run}/metrics/{METRIC}?points=1500"
    together = f"/api/metrics?runs={','.join(many)}&name={METRIC}"
    middle = f"{series}&from={LONG_POINTS // 2}&to={LONG_POINTS // 2 + 20_000}"
    requests = [
        ("GET /healthz (reference)", "/healthz", ""),
        ("1 M points, 1,500 px", series, "<= 10 ms p50"),
        ("1 M points, 20,000 of them at 1,500 px", middle, ""),
        ("1 M points, the newest 100", f"{series}&after={LONG_POINTS - 100}", ""),
        ("100 runs x 10,000 points, 500 px", f"{together}&points=500", "<= 100 ms p50"),
        ("100 runs x 10,000 points, 1,500 px", f"{together}&points=1500", ""),
    ]
    server.start()
    try:
        rows = []
        for name, path, target in requests:
            server.fetch(path)  # the first one opens files and fills caches, as a page's first chart does
            count = max(5, num_requests // 10) if path.startswith("/api/metrics") else num_requests
            taken, num_bytes = milliseconds(partial(server.fetch, path), num_requests=count)
            rows.append((name, taken, num_bytes, target))
    finally:
        server.close()
    return rows


def report(rows: list[tuple[str, list[float], int, str]]) -> str:
    """The result as Markdown."""
    lines = [
        f"# Reading charts over HTTP, {time.strftime('%Y-%m-%d')}",
        "",
        f"Milliseconds per request over one kept connection. {machine()}",
        "",
        "| request | p50 | p99 | min..max | n | bytes | target |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, taken, num_bytes, target in rows:
        ordered = sorted(taken)
        p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        spread = f"{ordered[0]:.1f}..{ordered[-1]:.1f}"
        median = statistics.median(ordered)
        lines.append(
            f"| {name} | {median:.1f} | {p99:.1f} | {spread} | {len(ordered)} | {num_bytes:,} | {target} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print Markdown, and write it to a file when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = report(measure(Path(folder), num_requests=chosen.requests))
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
