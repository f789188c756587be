"""Tests of the whole product share one worker, one dashboard and one browser.

pytest-xdist groups tests by a suffix that it writes to an item's ``_nodeid``,
which pytest 9.2 reads no more, so its ``xdist_group`` mark groups
nothing.  A scheduler that knows the folders needs no mark.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

WHOLE_PRODUCT: Final = ("tests/e2e/", "tests/faults/")
_WITH_BROWSER: Final = ("tests/static/test_plotly_css.py",)


def is_whole_product(nodeid: str) -> bool:
    """Whether the test starts the whole product."""
    return nodeid.startswith(WHOLE_PRODUCT)


def shares_worker(nodeid: str) -> bool:
    """Whether the test uses what there shall be one of: the dashboard or the browser."""
    return nodeid.startswith((*WHOLE_PRODUCT, *_WITH_BROWSER))


class OneWorker(LoadGroupScheduling):  # type: ignore[misc]  # it has no types
    """Hands those tests to one worker, first of all, and the others out one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return "whole-product" if shares_worker(nodeid) else nodeid


def make_scheduler(config: pytest.Config, log: Producer) -> Any:
    """The scheduler of ``--dist loadgroup``; None leaves the choice to pytest-xdist."""
    return OneWorker(config, log) if config.getvalue("dist") == "loadgroup" else None
