"""Logged-in browser profiles, and pages that must stay free of errors and policy violations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.e2e.chromium import logged_in
from tests.e2e.dashboard import FINISHED_STEPS, Dashboard
from tests.e2e.watched_page import WatchedPage, watch


@pytest.fixture(scope="session")
def finished(dashboard: Dashboard) -> str:
    """A run that has trained all its steps."""
    params = {
        "max_steps": FINISHED_STEPS,
        "eval_every": 20,
        "checkpoint_every": 30,
        "snapshot_budget": 1.0,
        "batch_size": 128,
        "num_buckets": 32_768,
        "dim": 128,
        "warmup_steps": 5,
        "embedding_learning_rate": 0.02,
    }
    run_id = dashboard.create_run("stdlib.jsonl", name="the whole way", **params)
    dashboard.wait_for_state(run_id, "finished", "failed", timeout_s=120)
    return run_id


@pytest.fixture(scope="session")
def profile(browser: Browser, dashboard: Dashboard) -> Iterator[BrowserContext]:
    """A logged-in browser profile on the shared dashboard."""
    context = logged_in(browser, dashboard)
    yield context
    context.close()


@pytest.fixture
def watched(profile: BrowserContext) -> Iterator[WatchedPage]:
    """A page on the shared dashboard; fails the test if anything went wrong in it."""
    with watch(profile) as watched:
        yield watched


@pytest.fixture
def page(watched: WatchedPage) -> Page:
    """The same page, for tests that only need to drive it."""
    return watched.page


@pytest.fixture
def own_profile(browser: Browser, own_dashboard: Dashboard) -> Iterator[BrowserContext]:
    """A logged-in browser profile on the dashboard that the test may kill."""
    context = logged_in(browser, own_dashboard)
    yield context
    context.close()
