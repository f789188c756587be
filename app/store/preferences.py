"""Settings that people change on the pages, one JSON object per name."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy.orm import Session

from app.store.models import Preference


def get(session: Session, name: str) -> dict[str, Any]:
    """The value kept under ``name``; empty where nothing was kept."""
    row = session.get(Preference, name)
    return dict(row.value) if row is not None else {}


def put(session: Session, name: str, value: dict[str, Any]) -> None:
    """Keep ``value`` under ``name``."""
    row = session.get(Preference, name)
    if row is None:
        session.add(Preference(name=name, value=value, changed_at=time.time()))
    else:
        row.value, row.changed_at = value, time.time()
    session.flush()
