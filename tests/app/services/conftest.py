"""Fixtures of the services' tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.services.run_rig import Rig, open_rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """Services on a fresh instance, closed at the end."""
    opened = open_rig(tmp_path / "instance")
    yield opened
    opened.store.close()
