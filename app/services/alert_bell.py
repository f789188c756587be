"""Feeds that pass news on and ring the webhook when the news is an alert."""

from __future__ import annotations

import threading
import time
from typing import Any, Final

from app.domain.run_states import RunState
from app.services.ingest import Live
from app.services.queue import RunFeed
from app.services.webhook import Webhook
from app.store.alerts import CRASH, LOST_TEXT, LOST_TITLE
from app.store.chunk_codec import Columns
from app.store.engine import Store
from app.store.models import Run
from trainer.protocol.events import EventType

SAID_EVERY_S: Final = 600.0  # what a trainer repeats is sent once in ten minutes
_MAX_SAID: Final = 1000


class AlertBell:
    """The feed behind ingest: everything goes on to ``live``, alerts to the webhook as well."""

    def __init__(self, live: Live, *, webhook: Webhook) -> None:
        self._live = live
        self._webhook = webhook
        self._said: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def run_changed(self, run_id: str) -> None:
        """The run's row changed."""
        self._live.run_changed(run_id)

    def points(self, run_id: str, name: str, start: int, points: Columns) -> None:
        """A series got points, the first of them numbered ``start``."""
        self._live.points(run_id, name, start, points)

    def output(self, run_id: str, attempt: int, offset: int, text: bytes) -> None:
        """An attempt's output grew at ``offset``."""
        self._live.output(run_id, attempt, offset, text)

    def event(self, run_id: str, event: dict[str, Any]) -> None:
        """A sparse event was stored."""
        self._live.event(run_id, event)
        if event["type"] == EventType.ALERT and not self._is_repeated(run_id, event):
            self._webhook.offer(run_id, event)

    def snapshot(self, run_id: str, dataset: str, step: int, summary: dict[str, Any]) -> None:
        """A snapshot was stored."""
        self._live.snapshot(run_id, dataset, step, summary)

    def _is_repeated(self, run_id: str, event: dict[str, Any]) -> bool:
        if event.get("category"):
            return False
        key, now = (run_id, str(event.get("title"))), time.monotonic()
        with self._lock:
            if len(self._said) > _MAX_SAID:
                self._said.clear()
            is_repeated = now - self._said.get(key, -SAID_EVERY_S) < SAID_EVERY_S
            if not is_repeated:
                self._said[key] = now
        return is_repeated


class LossBell:
    """The feed behind re-adoption: it alone finds out that a run is lost, which no supervisor can tell."""

    def __init__(self, live: RunFeed, *, webhook: Webhook, store: Store) -> None:
        self._live = live
        self._webhook = webhook
        self._store = store

    def run_changed(self, run_id: str) -> None:
        """The run's state changed."""
        self._live.run_changed(run_id)
        with self._store.read() as session:
            run = session.get(Run, run_id)
            if run is None or run.state != RunState.LOST:
                return
            step = run.step
        fields = {
            "category": CRASH,
            "what": "raised",
            "level": "error",
            "title": LOST_TITLE,
            "text": LOST_TEXT,
        }
        self._webhook.offer(run_id, {**fields, "step": step})
