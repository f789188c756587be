"""Fixtures that tests of several folders share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

# Hundreds of processes start: where bytecode may not be kept, each compiles anew whatever it imports.
# The workers and all their children inherit this environment.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Several workers share few cores, and the sums here are tiny: two threads of one process only spin against
# each other.  Trainers that a supervisor starts get their environment from the product all the same.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

pytest.register_assert_rewrite("tests.e2e.dashboard", "tests.e2e.spool", "tests.e2e.watched_page")

from scripts.chromium import HOW_TO_GET_ONE, find_chromium  # noqa: E402
from tests.e2e.chromium import launch  # noqa: E402
from tests.e2e.corpus import write_corpus  # noqa: E402
from tests.e2e.dashboard import Dashboard  # noqa: E402

WHOLE_PRODUCT = ("tests/e2e/", "tests/faults/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start processes come first, so that no long one is left to run alone at the end."""
    for item in items:
        if item.nodeid.startswith(WHOLE_PRODUCT):
            item.add_marker(pytest.mark.process)
    items.sort(key=lambda item: item.get_closest_marker("process") is None)


@pytest.fixture(scope="session")
def corpus_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The small corpus as JSONL text."""
    return write_corpus(tmp_path_factory.mktemp("corpus") / "stdlib.jsonl").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory: pytest.TempPathFactory, corpus_text: str) -> Iterator[Dashboard]:
    """One running dashboard for all tests that leave it running."""
    yield from _running(tmp_path_factory.mktemp("shared") / "instance", corpus_text)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests; fails, with the remedy, on a machine without one."""
    chromium = find_chromium()
    if chromium is None:
        pytest.fail(HOW_TO_GET_ONE, pytrace=False)
    with sync_playwright() as playwright:
        browser = launch(playwright, chromium)
        yield browser
        browser.close()


@pytest.fixture
def own_dashboard(tmp_path: Path, corpus_text: str) -> Iterator[Dashboard]:
    """A running dashboard that the test may kill."""
    yield from _running(tmp_path / "instance", corpus_text)


def _running(instance: Path, corpus_text: str) -> Iterator[Dashboard]:
    inbox = instance / "inbox"
    inbox.mkdir(parents=True)
    (inbox / "stdlib.jsonl").write_text(corpus_text, encoding="utf-8")
    dashboard = Dashboard(instance)
    try:
        dashboard.start()
        yield dashboard
    finally:
        dashboard.close()
