"""A real store in a temporary folder, points that look like a training's, and a table of results."""

from __future__ import annotations

import platform
import sqlite3
import tempfile
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, Final

import numpy as np
from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.services.ingest import Ingest
from app.store import runs, schema
from app.store.chunk_codec import Columns
from app.store.engine import Store
from app.store.models import Run
from trainer.protocol.batches import BATCH_BYTES, Batch, Block
from trainer.protocol.events import Stream

RESULTS: Final = Path(__file__).parent / "results"
_ENVELOPE_BYTES: Final = 600


class Silence:
    """A live feed that nobody watches."""

    def run_changed(self, run_id: str) -> None:
        """Nobody to tell."""

    def points(self, run_id: str, name: str, start: int, points: Columns) -> None:
        """Nobody to tell."""

    def output(self, run_id: str, attempt: int, offset: int, text: bytes) -> None:
        """Nobody to tell."""

    def event(self, run_id: str, event: dict[str, Any]) -> None:
        """Nobody to tell."""

    def snapshot(self, run_id: str, dataset: str, step: int, summary: dict[str, Any]) -> None:
        """Nobody to tell."""


@contextmanager
def open_store(run_ids: Sequence[str]) -> Iterator[tuple[Store, Ingest, Path]]:
    """A started store with these runs running, its ingest, and its folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder / 'signalbox.db'}"
        schema.upgrade(url)
        store = Store(url)
        store.start()

        def insert(session: Session) -> None:
            for run_id in run_ids:
                run = Run(
                    id=run_id, name=run_id, recipe="bench", dataset="bench", params={}, tags=[], policy={},
                    profile="auto", state="queued", queued_at=0.0, created_at=0.0, latest={},
                )  # fmt: skip
                runs.insert_run(session, run)
                runs.transition(session, run_id, new=RunState.STARTING, attempt=1)
                runs.transition(session, run_id, new=RunState.RUNNING)

        store.write(insert)
        try:
            yield store, Ingest(store, Silence()), folder
        finally:
            store.close()


def loss_columns(count: int, *, names: int = 1, seed: int = 0) -> tuple[Any, Any, list[Any]]:
    """Steps, times 10 ms apart with jitter, and noisy falling curves as float32 trainers report them."""
    rng = np.random.default_rng(seed)
    steps = np.arange(1, count + 1)
    times = 1.7e9 + np.cumsum(0.01 + rng.random(count) * 0.004)
    falling = 5.0 * np.exp(-steps / count * 3)
    values = [(falling + rng.normal(scale=0.3, size=count)).astype(np.float32) for _ in range(names)]
    return steps, times, [column.astype(np.float64) for column in values]


def wire_batches(
    columns: tuple[Any, Any, list[Any]], *, run: str = "run-0", most: int | None = None
) -> list[dict[str, Any]]:
    """The points as a supervisor sends them: full batches of 256 KiB, or of ``most`` points."""
    steps, times, values = columns
    names = ["train/loss", *(f"train/other_{index}" for index in range(1, len(values)))]
    fitting = (BATCH_BYTES - _ENVELOPE_BYTES) * 3 // (4 * 8 * (2 + len(values)))
    size = fitting if most is None else most
    batches = []
    for left in range(0, len(steps), size):
        part = slice(left, min(left + size, len(steps)))
        block = Block(
            1,
            names,
            array("q", steps[part].astype(np.int64).tobytes()),
            array("d", times[part].tobytes()),
            [array("d", column[part].tobytes()) for column in values],
        )
        batches.append(Batch(run, Stream.TRAINER, part.start + 1, part.stop, [block]).to_wire())
    return batches


def send(ingest: Ingest, batches: Sequence[dict[str, Any]]) -> float:
    """Decode and store the batches one after the other; returns seconds."""
    began = time.perf_counter()
    for batch in batches:
        ingest.accept(Batch.from_wire(batch))
    return time.perf_counter() - began


def raw_table(path: Path) -> sqlite3.Connection:
    """The reference: one row per point in a plain table, WAL, every commit synced."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(
        "CREATE TABLE points (series INTEGER, step INTEGER, t REAL, value REAL, "
        "PRIMARY KEY (series, step)) WITHOUT ROWID"
    )
    return connection


def fill_raw_table(connection: sqlite3.Connection, columns: tuple[Any, Any, list[Any]]) -> float:
    """Insert the points by ``executemany`` in 1,000-row commits; returns seconds."""
    steps, times, values = columns
    rows = [
        (series, step, t, value)
        for step, t, *row in zip(steps.tolist(), times.tolist(), *(v.tolist() for v in values), strict=True)
        for series, value in enumerate(row)
    ]
    began = time.perf_counter()
    for left in range(0, len(rows), 1_000):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO points VALUES (?, ?, ?, ?)", rows[left : left + 1_000])
        connection.execute("COMMIT")
    return time.perf_counter() - began


def report(name: str, title: str, table: Sequence[Sequence[str]], notes: str) -> None:
    """Print a table and keep it under ``results/`` with today's date."""
    head, *rows = table
    lines = [f"# {title}", "", f"{date.today()}, {platform.platform()}, Python {platform.python_version()}, "
             f"SQLite {sqlite3.sqlite_version}. Median (min..max).", ""]  # fmt: skip
    lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    text = "\n".join([*lines, "", notes, ""])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}-{date.today()}.md").write_text(text)
    print(text)
