"""A store on a real file, migrated and started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.services.ingest import Ingest
from app.store.engine import Store
from tests.app.fresh_database import fresh_database
from tests.app.rows import Heard


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return fresh_database(tmp_path / "instance" / "signalbox.db")


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = Store(database_url)
    opened.start()
    yield opened
    opened.close()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def ingest(store: Store, heard: Heard) -> Ingest:
    return Ingest(store, heard)
