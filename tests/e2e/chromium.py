"""Starting Chromium and logging it in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, BrowserContext, Playwright, expect

from tests.e2e.dashboard import Dashboard

SECONDS_TO_SHOW: Final = 20  # of an expectation; a crowded machine is slow, not wrong
FLAGS: Final = [
    *("--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def launch(playwright: Playwright, chromium: Path) -> Browser:
    """Start a headless Chromium; root needs it without its sandbox."""
    expect.set_options(timeout=1000 * SECONDS_TO_SHOW)
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    return playwright.chromium.launch(executable_path=chromium, args=flags)


def logged_in(browser: Browser, dashboard: Dashboard, *, has_touch: bool = False) -> BrowserContext:
    """A fresh browser profile that has used a login link."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 900},
        has_touch=has_touch,
        reduced_motion="reduce",  # nothing moves for decoration: sixty drawings a second in software
    )
    context.set_default_timeout(60_000)  # a crowded machine is slow, not wrong
    page = context.new_page()
    page.goto(dashboard.login_link())
    page.wait_for_url(f"{dashboard.url}/")
    page.close()
    return context
