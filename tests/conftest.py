"""Fixtures that tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

pytest.register_assert_rewrite("tests.e2e.dashboard", "tests.e2e.spool", "tests.e2e.watched_page")

from scripts.chromium import HOW_TO_GET_ONE, find_chromium  # noqa: E402
from tests.e2e.chromium import launch  # noqa: E402
from tests.e2e.corpus import write_corpus  # noqa: E402
from tests.e2e.dashboard import Dashboard  # noqa: E402
from tests.e2e.one_worker import is_whole_product, make_scheduler, shares_worker  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the whole product start processes; a browser is shared, so its tests share a worker."""
    for item in items:
        if is_whole_product(item.nodeid):
            item.add_marker(pytest.mark.process)
        if item.get_closest_marker("browser") and not shares_worker(item.nodeid):
            raise pytest.UsageError(
                f"{item.nodeid} drives a browser: list its file in tests/e2e/one_worker.py"
            )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Group the tests of the whole product."""
    return make_scheduler(config, log)


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
