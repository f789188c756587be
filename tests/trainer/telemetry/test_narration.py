"""The trainer's log in plain words."""

from __future__ import annotations

import logging

import pytest

from trainer.protocol.events import EventType
from trainer.telemetry.narration import line_of, narrate


def test_a_checkpoint_is_told_with_its_step_size_and_whether_it_is_the_best() -> None:
    body = {"step": 50, "file": "step_000050.pt", "bytes": 3 * 2**20, "best": True}
    assert (
        line_of(EventType.CHECKPOINT, body) == "step 50: checkpoint step_000050.pt (3.0 MiB, the best so far)"
    )


def test_what_comes_at_every_step_is_not_told() -> None:
    assert line_of(EventType.PROGRESS, {"step": 1}) is None


def test_a_warning_is_logged_as_one(caplog: pytest.LogCaptureFixture) -> None:
    narrate(EventType.ALERT, {"level": "warning", "title": "Disk nearly full", "text": "Free some space."})
    assert [(record.levelno, record.message) for record in caplog.records] == [
        (logging.WARNING, "warning: Disk nearly full: Free some space.")
    ]


def test_odd_values_are_told_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        narrate(EventType.SNAPSHOT, {"step": 1, "cost_s": "soon"})
    assert "soon" in caplog.text
