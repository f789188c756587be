"""Fixtures of the REST tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.routes.api_rig import Api, open_api


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    """The API on a fresh instance."""
    opened = open_api(tmp_path / "instance")
    yield opened
    opened.parts.store.close()
