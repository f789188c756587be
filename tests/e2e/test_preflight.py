"""The form checks before it starts, red blocks it, a person may insist; a rehearsal can be ended."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard

pytestmark = pytest.mark.browser


def open_form(page: Page, dashboard: Dashboard, **parameters: object) -> None:
    page.goto(f"{dashboard.url}/runs/new?recipe=two_tower")
    page.locator("#dataset").select_option(str((dashboard.instance / "inbox" / "stdlib.jsonl").resolve()))
    for name, value in parameters.items():
        page.get_by_test_id(f"param-{name}").fill(str(value))


def test_red_blocks_the_start_until_somebody_insists(page: Page, dashboard: Dashboard) -> None:
    open_form(page, dashboard, batch_size=9000, max_steps=3)
    page.get_by_test_id("start-run").click()
    expect(page.get_by_test_id("check-steps")).to_contain_text("A batch of 9,000", timeout=60_000)
    expect(page).to_have_url(re.compile(r"/runs/new\?recipe=two_tower$"))
    expect(page.get_by_test_id("start-run")).to_be_enabled()
    page.get_by_test_id("start-anyway").click()
    page.wait_for_url(re.compile(r"/runs/(?!new)[^/]+$"))
    dashboard.order(page.url.rsplit("/", 1)[1], "kill")


def test_check_first_shows_amber_and_a_changed_form_forgets_it(page: Page, dashboard: Dashboard) -> None:
    open_form(page, dashboard, batch_size=32, num_probes=4000)
    page.get_by_test_id("check-first").click()
    expect(page.get_by_test_id("check-measures")).to_contain_text("4,000 probes", timeout=60_000)
    expect(page.get_by_test_id("start-anyway")).to_be_hidden()
    page.get_by_text(re.compile("all fine$")).click()
    expect(page.get_by_test_id("check-dataset")).to_contain_text("pairs of text")
    page.get_by_test_id("param-num_probes").fill("20")
    expect(page.get_by_test_id("check-measures")).to_have_count(0)


def test_a_rehearsal_is_followed_and_ended(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/doctor")
    page.get_by_test_id("run-verify").click()
    expect(page.get_by_test_id("check-corpus")).to_contain_text("Corpus", timeout=30_000)
    expect(page.get_by_test_id("check-clean")).to_contain_text("Waiting")
    page.get_by_test_id("cancel-verify").click()
    expect(page.locator("#verify-trouble")).to_contain_text("ended before", timeout=60_000)
    expect(page.get_by_test_id("run-verify")).to_be_enabled()
    assert list(dashboard.instance.glob("verify-*")) == []
