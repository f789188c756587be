"""How many points per second ``Ingest.accept`` commits with ``synchronous=FULL``, beside raw SQLite.

Batches are decoded from their wire form, so all that is missing is the socket.

Run: ``python -m benchmarks.ingest_store [--points 100000] [--rounds 5]``
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from app.services.metrics import MetricReader
from benchmarks.spread import spread
from benchmarks.store_rig import (
    fill_raw_table,
    loss_columns,
    open_store,
    raw_table,
    report,
    send,
    wire_batches,
)


def ours(calls: int, *, names: int, most: int | None = None) -> float:
    """Points per second from wire batches to committed and readable."""
    batches = wire_batches(loss_columns(calls, names=names), most=most)
    with open_store(["run-0"]) as (store, ingest, _):
        seconds = send(ingest, batches)
        read = MetricReader(store).read("run-0", "train/loss")
        assert read.total_points == calls
    return calls * names / seconds


def reference(calls: int, *, names: int) -> float:
    """Rows per second of ``sqlite3.executemany`` in 1,000-row commits."""
    with TemporaryDirectory() as folder:
        connection = raw_table(Path(folder) / "raw.db")
        seconds = fill_raw_table(connection, loss_columns(calls, names=names))
        connection.close()
    return calls * names / seconds


def main() -> None:
    """Measure by turns, print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000, help="log() calls per round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    shapes = (
        ("one scalar per call, full batches", 1, None),
        ("five scalars per call, full batches", 5, None),
        ("one scalar per call, 100 points per batch", 1, 100),
    )
    rows = [["shape", "Ingest.accept, points/s", "raw executemany, rows/s", "ratio of medians"]]
    for title, names, most in shapes:
        mine, raw = [], []
        for _ in range(arguments.rounds):
            mine.append(ours(arguments.points, names=names, most=most))
            raw.append(reference(arguments.points, names=names))
        ratio = sorted(mine)[len(mine) // 2] / sorted(raw)[len(raw) // 2]
        rows.append([title, spread(mine, 0), spread(raw, 0), f"{ratio:.1f}"])
    report(
        "ingest_store",
        f"Points committed per second ({arguments.points:,} calls, {arguments.rounds} rounds)",
        rows,
        "Both commit with `synchronous=FULL` in WAL mode, by turns in one process. Full batches have 256 KiB "
        "on the wire; 100 points per batch is a trainer that logs 1,000 times a second: one commit each.",
    )


if __name__ == "__main__":
    main()
