"""No supervisor outlives its test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.trainer.supervisor.supervised import end_all

pytest.register_assert_rewrite("tests.children.nothing_lost")


@pytest.fixture(autouse=True)
def _no_supervisor_is_left() -> Iterator[None]:
    yield
    end_all()
