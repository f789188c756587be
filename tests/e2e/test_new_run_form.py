"""The form of a new run: finding one parameter among many, presets in words, and the way to it on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard

pytestmark = pytest.mark.browser


def test_a_parameter_is_found_and_a_preset_says_what_it_sets(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/runs/new?recipe=two_tower")
    dropout = page.get_by_test_id("param-dropout")
    expect(page.get_by_test_id("start-run")).to_be_enabled(timeout=30_000)
    expect(dropout).to_be_hidden()  # advanced
    page.get_by_test_id("find-parameter").fill("words dropped")
    expect(dropout).to_be_visible()
    expect(page.get_by_test_id("param-batch_size")).to_be_hidden()
    page.get_by_test_id("find-parameter").fill("no such thing")
    expect(page.get_by_text("No parameter of this recipe fits these words.")).to_be_visible()
    page.get_by_test_id("find-parameter").fill("")
    expect(page.get_by_test_id("param-batch_size")).to_be_visible()
    expect(dropout).to_be_hidden()
    page.locator('[data-preset="quick"]').click()
    expect(page.get_by_test_id("preset-words")).to_contain_text("Sets ")
    page.get_by_text("More presets").click()
    expect(page.locator("details.more-presets [data-preset]").first).to_be_visible()


def test_scripts_are_in_sight_in_the_navigation_of_a_phone(page: Page, dashboard: Dashboard) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{dashboard.url}/scripts")
    link = page.get_by_role("navigation", name="Main").get_by_role("link", name="Scripts")
    expect(link).to_have_attribute("aria-current", "page")
    row, place = page.locator(".nav").bounding_box(), link.bounding_box()
    assert row is not None
    assert place is not None
    assert row["x"] <= place["x"]
    assert place["x"] + place["width"] <= row["x"] + row["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == 390
