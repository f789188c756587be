"""What an ``alert`` event means for the alerts of its run.

Alerts with a category are raised and resolved by the supervisor's rules.
Those without are the trainer's own words: the same title is one alert until
the attempt ends, and mere information is over as soon as it is said.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from sqlalchemy.orm import Session

from app.errors import InvalidRequest
from app.services.ingest_checks import MAX_TEXT, Fields
from app.store import alerts
from app.store.models import Alert, Run

LEVELS: Final = ("info", "warning", "error")
MAX_TITLE: Final = 200
_CATEGORY: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def alert(session: Session, run: Run, event: dict[str, Any], values: dict[str, Any]) -> None:
    """Raise or resolve an alert as the event says.

    Raises:
        InvalidRequest: category, what or step is wrong; names it.
    """
    fields = Fields(event)
    category = _category(event, fields)
    title = _cut(event.get("title"), MAX_TITLE) or "Alert"
    slot = category or f"said:{hashlib.sha256(title.encode('utf-8', 'replace')).hexdigest()[:32]}"
    step = fields.integer("step") if fields.has("step") else None
    words = _cut(event.get("text"), MAX_TEXT)
    if category is not None and fields.text("what", limit=16, default="raised") == "resolved":
        alerts.resolve(session, run, slot, at=event["t"], step=step, outcome=words)
        return
    level = event.get("level")
    raised = Alert(
        run_id=run.id,
        attempt=fields.integer("attempt", default=1, low=1, high=2**31 - 1),
        slot=slot,
        category=category,
        level=level if level in LEVELS else "warning",
        title=title,
        text=words,
        raised_step=step,
        raised_at=event["t"],
    )
    if category is None and raised.level == "info":
        raised.resolved_at = raised.raised_at
    alerts.raise_alert(session, run, raised)


def _category(event: dict[str, Any], fields: Fields) -> str | None:
    if not fields.has("category"):
        return None
    category = fields.text("category", limit=64)
    if not _CATEGORY.fullmatch(category):
        message = (
            f"event {event['seq']} (alert): category must be a slug such as loss-spike, got {category!r}"
        )
        raise InvalidRequest(message, field="category")
    what = fields.text("what", limit=16, default="raised")
    if what not in ("raised", "resolved"):
        message = f"event {event['seq']} (alert): what must be raised or resolved, got {what!r}"
        raise InvalidRequest(message, field="what")
    return category


def _cut(raw: object, limit: int) -> str:
    """Text that UTF-8 can carry, of at most ``limit`` characters; trainers may say anything."""
    return (raw if isinstance(raw, str) else "").encode("utf-8", "replace").decode("utf-8")[:limit]
