"""The run of ``make demo``."""

from __future__ import annotations

import logging
from typing import Final

from flask import Flask

from app.container import EXTENSION, Container
from app.domain.run_states import ACTIVE, RunState
from app.errors import SignalboxError
from app.store import runs as run_rows

logger: Final = logging.getLogger("signalbox.server")
RECIPE: Final = "two_tower"
DATASET: Final = "python_docs"
NAME: Final = "Demo: find the function"


def start_demo(app: Flask, *, key: str) -> None:
    """Start a training run on the documentation corpus unless one is under way or waiting.

    ``key`` names this start of the server: a restarted worker does not start a second run.
    """
    parts: Container = app.extensions[EXTENSION]
    with parts.store.read() as session:
        under_way, _ = run_rows.list_runs(session, states=ACTIVE | {RunState.QUEUED}, limit=1, offset=0)
    if under_way:
        return
    try:
        parts.runs.create(
            RECIPE, DATASET, {}, name="Demo: find the function", tags=["demo"], idempotency_key=key
        )
    except SignalboxError as exc:
        logger.warning("the demo run could not be started: %s", exc.message)
