"""Whatever arrives in whatever order, every event takes effect exactly once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from app.services.ingest import Ingest, SequenceGap
from app.services.metrics import MetricReader
from app.store import metrics, runs
from app.store.compaction import compact_series
from app.store.engine import Store
from tests.app.fresh_database import fresh_database
from tests.app.rows import Heard, events_batch, metrics_batch, store_running
from trainer.protocol.events import Stream


class Uplink(RuleBasedStateMachine):
    """A sender that repeats itself, skips ahead and starts over, and a server that is restarted."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.url = fresh_database(Path(self.folder.name) / "signalbox.db")
        self.heard = Heard()
        self.open()
        store_running(self.store)
        self.have = 0
        self.alerts = 0
        self.points: list[float] = []

    def open(self) -> None:
        self.store = Store(self.url)
        self.store.start()
        self.ingest = Ingest(self.store, self.heard)

    @initialize()
    def says_hello(self) -> None:
        assert self.ingest.hello("run-1", attempt=1)["trainer"] == 0

    @rule(count=st.integers(1, 600))
    def sends_points(self, count: int) -> None:
        values = [float(seq) for seq in range(self.have + 1, self.have + count + 1)]
        assert self.ingest.accept(metrics_batch(self.have + 1, values)) == self.have + count
        self.points += values
        self.have += count

    @rule(count=st.integers(1, 5), overlap=st.integers(0, 3))
    def sends_events_some_of_them_again(self, count: int, overlap: int) -> None:
        first = max(1, self.have + 1 - overlap)
        events = [{"type": "alert"}] * (self.have + count - first + 1)
        batch = events_batch(first, *events, stream=Stream.TRAINER)
        assert self.ingest.accept(batch) == self.have + count
        self.alerts += count
        self.have += count

    @rule(back=st.integers(1, 50), count=st.integers(1, 100))
    def repeats_points(self, back: int, count: int) -> None:
        first = max(1, self.have + 1 - back)
        batch = metrics_batch(first, [-1.0] * count)
        if batch.last <= self.have:
            assert self.ingest.accept(batch) == self.have
            return
        if first == self.have + 1:
            assert self.ingest.accept(batch) == batch.last
            self.points += [-1.0] * count
            self.have += count
            return
        with pytest.raises(SequenceGap) as caught:
            self.ingest.accept(batch)
        assert caught.value.have == self.have

    @rule(ahead=st.integers(2, 50))
    def skips_ahead(self, ahead: int) -> None:
        with pytest.raises(SequenceGap) as caught:
            self.ingest.accept(metrics_batch(self.have + ahead, [0.0]))
        assert caught.value.have == self.have

    @rule(everything=st.booleans())
    def compacts(self, everything: bool) -> None:
        with self.store.read() as session:
            ids = [row.id for row in metrics.list_series(session, "run-1")]
        for series_id in ids:
            self.store.write(lambda s, i=series_id: compact_series(s, i, everything=everything))  # type: ignore[misc]

    @rule()
    def restarts(self) -> None:
        self.store.close()
        self.open()

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert self.ingest.hello("run-1", attempt=1)["trainer"] == self.have
        with self.store.read() as session:
            assert len(runs.events(session, "run-1", limit=10_000)) == self.alerts
            rows = metrics.list_series(session, "run-1")
        if rows:
            read = MetricReader(self.store).read("run-1", "train/loss", points=20_000)
            assert np.array_equal(read.values, self.points)
            assert read.total_points == len(self.points)
            told = [entry for entry in self.heard.news if entry[0] == "points"]
            assert [value for entry in told for value in entry[4]] == self.points
            assert [entry[2] for entry in told] == np.cumsum([0] + [len(entry[4]) for entry in told])[
                :-1
            ].tolist()

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestUplink = Uplink.TestCase
TestUplink.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
