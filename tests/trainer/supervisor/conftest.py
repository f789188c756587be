"""No supervisor outlives its test; the dashboard that several of them report to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.children.dashboard import Dashboard
from tests.trainer.supervisor.supervised import end_all


@pytest.fixture(autouse=True)
def _no_supervisor_is_left() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[Dashboard]:
    """The receiving end of uplinks."""
    server = Dashboard(tmp_path / "dashboard")
    yield server
    server.close()
