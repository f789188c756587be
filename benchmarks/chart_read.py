"""How long the server needs for the points of a chart, beside one row per point in a plain table.

Run: ``python -m benchmarks.chart_read [--points 1000000] [--rounds 30]``
"""

from __future__ import annotations

import argparse
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson

from app.services.metrics import MetricReader, SeriesPoints, downsample
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

PIXELS = 1_500


def to_json(series: SeriesPoints) -> bytes:
    """The body of the answer."""
    columns = {"steps": series.steps, "times": series.times, "values": series.values}
    return orjson.dumps({"name": series.name, **columns}, option=orjson.OPT_SERIALIZE_NUMPY)


def milliseconds(rounds: int, call: Callable[[], Any]) -> list[float]:
    """How long each of ``rounds`` calls took, the first ones included."""
    figures = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        figures.append((time.perf_counter() - began) * 1e3)
    return figures


def read_raw(connection: sqlite3.Connection) -> bytes:
    """The same chart from the reference table."""
    rows = np.array(connection.execute("SELECT step, t, value FROM points WHERE series = 0").fetchall())
    kept = rows[downsample(rows[:, 0], np.ascontiguousarray(rows[:, 2]), points=PIXELS)]
    return orjson.dumps(np.ascontiguousarray(kept), option=orjson.OPT_SERIALIZE_NUMPY)


def one_long_series(points: int, rounds: int) -> list[list[str]]:
    """A chart of one series far out, zoomed in, and the same from the reference."""
    columns = loss_columns(points)
    with open_store(["run-0"]) as (store, ingest, _), TemporaryDirectory() as folder:
        send(ingest, wire_batches(columns))
        reader = MetricReader(store)
        far = milliseconds(rounds, lambda: to_json(reader.read("run-0", "train/loss", points=PIXELS)))
        middle = points // 2
        near = milliseconds(
            rounds,
            lambda: to_json(
                reader.read("run-0", "train/loss", points=PIXELS, start=middle, stop=middle + points // 10)
            ),
        )
        connection = raw_table(Path(folder) / "raw.db")
        fill_raw_table(connection, columns)
        raw = milliseconds(5, lambda: read_raw(connection))
        connection.close()
    return [
        [f"{points:,} points, {PIXELS:,} px", spread(far), spread(raw)],
        ["a tenth of it, zoomed in", spread(near), "-"],
    ]


def many_runs(num_runs: int, points: int, rounds: int) -> list[str]:
    """One metric of many runs in one call, JSON included."""
    run_ids = [f"run-{index}" for index in range(num_runs)]
    with open_store(run_ids) as (store, ingest, _):
        for index, run_id in enumerate(run_ids):
            send(ingest, wire_batches(loss_columns(points, seed=index), run=run_id))
        reader = MetricReader(store)

        def call() -> int:
            found = reader.read_many(run_ids, "train/loss", points=PIXELS)
            return sum(len(to_json(series)) for series in found.values())

        figures = milliseconds(rounds, call)
    return [f"{num_runs} runs x {points:,} points, {PIXELS:,} px each", spread(figures), "-"]


def main() -> None:
    """Measure, print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    rows = [["chart", "ours, ms", "plain table + the same downsampling, ms"]]
    rows += one_long_series(arguments.points, arguments.rounds)
    rows.append(many_runs(100, 10_000, arguments.rounds))
    report(
        "chart_read",
        f"Points of a chart on the server ({arguments.rounds} rounds)",
        rows,
        "From the call of the service to the JSON bytes; the HTTP request is not in it. "
        "Database in the page cache, one reader.",
    )


if __name__ == "__main__":
    main()
