"""Rows and batches for tests of store and services."""

from __future__ import annotations

import gzip
import json
import time
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from app.domain.run_states import RunState
from app.store import runs
from app.store.chunk_codec import Columns
from app.store.engine import Store
from app.store.models import Run
from trainer.protocol.batches import Batch, Block
from trainer.protocol.events import Stream


def new_run(run_id: str = "run-1", **values: Any) -> Run:
    """A queued run, not stored yet."""
    fields: dict[str, Any] = {
        "id": run_id, "name": "a run", "recipe": "two_tower", "dataset": "python_docs", "params": {},
        "tags": [], "policy": {}, "profile": "auto", "state": RunState.QUEUED.value, "latest": {},
        "queued_at": time.time(), "created_at": time.time(),
    }  # fmt: skip
    return Run(**{**fields, **values})


def store_running(store: Store, run_id: str = "run-1", **values: Any) -> None:
    """Store a run and bring it to ``running``, attempt 1."""

    def work(session: Any) -> None:
        runs.insert_run(session, new_run(run_id, **values))
        runs.transition(session, run_id, new=RunState.STARTING, attempt=1)
        runs.transition(session, run_id, new=RunState.RUNNING)

    store.write(work)


def state_of(store: Store, run_id: str = "run-1") -> Run:
    """The run's row now."""
    with store.read() as session:
        return runs.get_run(session, run_id)


def metrics_batch(
    first: int,
    values: Sequence[float],
    *,
    name: str = "train/loss",
    run: str = "run-1",
    attempt: int = 1,
    steps: Iterable[int] | None = None,
) -> Batch:
    """One point per event from seq ``first`` on; steps default to the seqs."""
    count = len(values)
    columns = array("q", range(first, first + count) if steps is None else steps)
    times = array("d", [1.7e9 + first + index for index in range(count)])
    block = Block(attempt, [name], columns, times, [array("d", values)])
    return Batch(run, Stream.TRAINER, first, first + count - 1, [block])


def events_batch(
    first: int, *events: dict[str, Any], run: str = "run-1", stream: Stream = Stream.SUPERVISOR
) -> Batch:
    """Sparse events numbered from ``first`` on."""
    numbered = [
        {"seq": first + index, "t": 1.7e9 + first + index, "attempt": 1, **event}
        for index, event in enumerate(events)
    ]
    return Batch(run, stream, first, first + len(events) - 1, [], numbered)


def snapshot_content(at: int, *, ranks: Sequence[int] = (1, 3), **changes: Any) -> dict[str, Any]:
    """A retrieval snapshot of as many probes as ``ranks``; probe ``i`` wants document ``d<i>``."""
    count = len(ranks)
    content: dict[str, Any] = {
        "format": 1, "task": "retrieval", "dataset": "python_docs", "step": at, "epoch": at / 100,
        "t": 1.7e9 + at, "attempt": 1, "model_version": f"run-1@{at}", "probe_set": f"set-of-{count}",
        "cost_s": 0.5,
        "columns": {
            "loss": [float(rank) for rank in ranks],
            "correct": [float(rank == 1) for rank in ranks],
            "rank": [float(rank) for rank in ranks],
            "score": [1.5 - rank for rank in ranks],
            "margin": [2.0 - rank for rank in ranks],
        },
        "outputs": [
            {"top": [[f"d{i}" if rank == 1 else "other", 0.75], ["other" if rank == 1 else f"d{i}", 0.5]]}
            for i, rank in enumerate(ranks)
        ],
        "documents": {
            "other": {"title": "another", "text": "not it"},
            **{f"d{i}": {"title": f"title {i}", "text": f"text {i}"} for i in range(count)},
        },
        "probes": {
            "hash": f"set-of-{count}",
            "examples": [
                {"example_id": f"ex_{i:04d}", "input": f"query {i}", "expected_output": f"text {i}",
                 "group": f"g{i}", "gold": f"d{i}"}
                for i in range(count)
            ],
        },
        "summary": {
            "avg_loss": sum(ranks) / count, "accuracy": sum(rank == 1 for rank in ranks) / count,
            "total_examples": count, "correct": sum(rank == 1 for rank in ranks),
            "incorrect": sum(rank != 1 for rank in ranks), "mrr@10": "NaN",
        },
    }  # fmt: skip
    return {**content, **changes}


def snapshot_file(at: int, **changes: Any) -> bytes:
    """The same as the file a supervisor uploads."""
    return gzip.compress(json.dumps(snapshot_content(at, **changes)).encode())


class Heard:
    """Everything a live feed was told, in order."""

    def __init__(self) -> None:
        self.news: list[tuple[Any, ...]] = []

    def run_changed(self, run_id: str) -> None:
        self.news.append(("run_changed", run_id))

    def points(self, run_id: str, name: str, start: int, points: Columns) -> None:
        self.news.append(("points", name, start, points.steps.tolist(), points.values.tolist()))

    def output(self, run_id: str, attempt: int, offset: int, text: bytes) -> None:
        self.news.append(("output", attempt, offset, text))

    def event(self, run_id: str, event: dict[str, Any]) -> None:
        self.news.append(("event", event["type"], event["seq"]))

    def snapshot(self, run_id: str, dataset: str, step: int, summary: dict[str, Any]) -> None:
        self.news.append(("snapshot", dataset, step))


def as_client_reads(found: object) -> Any:
    """An answer of a service as it comes out of JSON."""
    return orjson.loads(orjson.dumps(found))
