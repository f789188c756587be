"""Bytes on disk per point, beside one row per point in a plain table.

Run: ``python -m benchmarks.disk [--points 1000000]``
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.store import runs
from app.store.compaction import Compactor
from benchmarks.store_rig import (
    fill_raw_table,
    loss_columns,
    open_store,
    raw_table,
    report,
    send,
    wire_batches,
)

Points = tuple[Any, Any, list[Any]]


def whole_mantissas(count: int) -> Points:
    """Values that need all eight bytes."""
    steps, times, _ = loss_columns(count)
    return steps, times, [np.random.default_rng(0).normal(size=count)]


def ours(points: Points, *, most: int | None) -> float:
    """Bytes per point of the database files after the run has ended and compaction has settled."""
    count = len(points[0]) * len(points[2])
    batches = wire_batches(points, most=most)
    with open_store(["run-0"]) as (store, ingest, folder):
        compactor = Compactor(store)
        for left in range(0, len(batches), 40):
            send(ingest, batches[left : left + 40])
            compactor.run_once(ended=False)
        store.write(partial(_finish, run_id="run-0"))
        compactor.run_once(ended=True)
        store.close()
        return _file_bytes(folder) / count


def _finish(session: Session, run_id: str) -> None:
    runs.transition(session, run_id, new=RunState.FINISHED)


def reference(points: Points) -> float:
    """Bytes per point of the plain table."""
    with TemporaryDirectory() as name:
        connection: sqlite3.Connection = raw_table(Path(name) / "raw.db")
        fill_raw_table(connection, points)
        connection.close()
        return _file_bytes(Path(name)) / (len(points[0]) * len(points[2]))


def _file_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def main() -> None:
    """Measure, print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    count = parser.parse_args().points
    shapes: list[tuple[str, Callable[[int], Points], int | None]] = [
        ("float32 loss, full batches", loss_columns, None),
        ("float32 loss, 100 points per batch, compacted", loss_columns, 100),
        ("values of full precision, full batches", whole_mantissas, None),
        ("five float32 scalars per call, full batches", lambda n: loss_columns(n // 5, names=5), None),
    ]
    rows = [["points", "ours, bytes/point", "plain table, bytes/point"]]
    for title, make, most in shapes:
        points = make(count)
        rows.append([title, f"{ours(points, most=most):.1f}", f"{reference(points):.1f}"])
    report(
        "disk",
        f"Bytes on disk per point ({count:,} points)",
        rows,
        "All files of the database after closing it, whole, with steps, times and exact values. "
        "Times jitter by milliseconds, as real ones do.",
    )


if __name__ == "__main__":
    main()
