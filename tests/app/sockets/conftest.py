"""One served application per module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.app.in_process import Served, served


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("instance")) as running:
        yield running
