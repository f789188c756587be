"""The doctor's page: a click examines the machine for real, and its findings can be read."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard

pytestmark = pytest.mark.browser


def test_a_click_examines_the_machine_and_shows_what_was_found(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/")
    page.get_by_role("link", name="Doctor").click()
    page.get_by_test_id("run-doctor").click()
    expect(page.get_by_test_id("run-doctor")).to_be_disabled()
    expect(page.get_by_test_id("doctor-summary")).to_contain_text("fine", timeout=100_000)
    expect(page.get_by_test_id("run-doctor")).to_have_text("Examine again")
    expect(page.get_by_test_id("doctor-age")).to_contain_text("last examined")
    port = page.get_by_test_id("check-port")
    expect(port).to_contain_text("Signalbox is serving")
    page.get_by_test_id("check-openmp").get_by_text("Details").click()
    expect(page.get_by_test_id("check-openmp").locator("pre")).to_contain_text("gomp")
    checks = page.locator(".check")
    shown = [str(checks.nth(n).get_attribute("data-verdict")) for n in range(checks.count())]
    order = ["problem", "warning", "note", "ok"]
    assert shown == sorted(shown, key=order.index)
    page.reload()
    expect(page.get_by_test_id("doctor-summary")).to_contain_text(re.compile(r"\d+ fine"))
