"""Alerts as people read them, and taking them off the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from app.store import alerts as alert_rows
from app.store import runs as run_rows
from app.store.engine import Store
from app.store.models import Alert

MAX_SHOWN: Final = 500


class RunFeed(Protocol):
    """Who is told that a run's row has changed."""

    def run_changed(self, run_id: str) -> None:
        """The run's row changed."""


class Alerts:
    """The alerts there are."""

    def __init__(self, store: Store, *, live: RunFeed) -> None:
        self._store = store
        self._live = live

    def of_run(self, run_id: str) -> Sequence[dict[str, Any]]:
        """The newest alerts of a run, open ones first.

        Raises:
            NotFound: there is no such run.
        """
        with self._store.read() as session:
            name = run_rows.get_run(session, run_id).name
            return [to_json(row, name) for row in alert_rows.of_run(session, run_id, limit=MAX_SHOWN)]

    def of_all_runs(self, *, active: bool | None, limit: int) -> Sequence[dict[str, Any]]:
        """Alerts of all runs, newest first."""
        with self._store.read() as session:
            rows = alert_rows.of_all_runs(session, active=active, limit=limit)
            return [to_json(row, name) for row, name in rows]

    def dismiss(self, alert_id: int | str) -> dict[str, Any]:
        """Take an alert off the active ones; doing it again changes nothing.

        Raises:
            NotFound: there is no such alert.
        """

        def work(session: Any) -> dict[str, Any]:
            row = alert_rows.dismiss(session, _number(alert_id))
            return to_json(row, run_rows.get_run(session, row.run_id).name)

        return self._store.write(work, after_commit=lambda shown: self._live.run_changed(shown["run"]))


def _number(alert_id: int | str) -> int:
    """The id as a number; 0, which no alert has, for what is none."""
    shown = str(alert_id)
    return int(shown) if shown.isascii() and shown.isdigit() and len(shown) < 16 else 0


def to_json(alert: Alert, run_name: str) -> dict[str, Any]:
    """One alert; times in Unix seconds, ``active`` while it is neither over nor dismissed."""
    return {
        "id": alert.id,
        "run": alert.run_id,
        "run_name": run_name,
        "attempt": alert.attempt,
        "category": alert.category,
        "level": alert.level,
        "title": alert.title,
        "text": alert.text,
        "raised_step": alert.raised_step,
        "raised_at": alert.raised_at,
        "resolved_step": alert.resolved_step,
        "resolved_at": alert.resolved_at,
        "outcome": alert.outcome,
        "dismissed_at": alert.dismissed_at,
        "active": alert.resolved_at is None and alert.dismissed_at is None,
    }
