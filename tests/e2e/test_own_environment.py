"""A person sets variables and a policy in the form, and finds them, and every attempt, on the run's page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.dashboard import Dashboard
from tests.e2e.watched_page import WatchedPage

pytestmark = pytest.mark.browser
RUNGS = [
    {
        "rung": "threads",
        "title": "one OpenMP thread",
        "reason": "<b>two</b> runtimes met",
        "attempt": 1,
        "changes_numbers": False,
        "is_unsafe": False,
        "changes": {"OMP_WAIT_POLICY": [None, "PASSIVE"]},
    },
    {
        "rung": "subset",
        "title": "train on half of the pairs",
        "reason": "memory ran out",
        "attempt": 1,
        "changes_numbers": True,
        "is_unsafe": False,
        "changes": {"max_pairs": [8000, 4000]},
    },
]


def with_rungs(route: Route) -> None:
    """A healthy trainer needs no rung: let the page believe that it did."""
    response = route.fetch()
    plan: dict[str, Any] = {"rungs": RUNGS, "params": {"max_pairs": 4000}, "environment": {}, "because": None}
    attempts = [{**attempt, "plan": plan} for attempt in response.json()["attempts"]]
    route.fulfill(response=response, json={"attempts": attempts})


def add_variable(page: Page, name: str, value: str) -> None:
    page.get_by_test_id("add-variable").click()
    row = page.get_by_test_id("own-variable").last
    row.get_by_test_id("variable-name").fill(name)
    row.get_by_test_id("variable-value").fill(value)


def fill_in(page: Page, dashboard: Dashboard) -> None:
    """Every mistake is told where it was made, and Start waits until none is left."""
    page.goto(f"{dashboard.url}/runs/new?recipe=two_tower")
    page.locator("#dataset").select_option(str((dashboard.instance / "inbox" / "stdlib.jsonl").resolve()))
    page.get_by_test_id("param-max_steps").fill("20")
    expect(page.get_by_test_id("policy-retry_after_s")).to_be_hidden()
    page.get_by_test_id("policy-on_stall").select_option("retry")
    expect(page.get_by_test_id("policy-retry_after_s")).to_have_value("120")
    page.get_by_test_id("policy-max_attempts").fill("21")
    expect(page.locator("#policy-max_attempts-error")).to_have_text("Allowed: 1 to 20 attempts.")
    expect(page.get_by_test_id("start-run")).to_be_disabled()
    page.get_by_test_id("policy-max_attempts").fill("2")
    add_variable(page, "FAISS_NUM_THREADS", "1")
    add_variable(page, "HF_TOKEN", "hf_secret")
    expect(page.get_by_test_id("variable-warning").first).to_contain_text("no such variable")
    expect(page.locator("#preview [data-variable=HF_TOKEN]")).not_to_contain_text("hf_secret")
    add_variable(page, "PYTHONPATH", "/x")
    expect(page.get_by_test_id("own-variable").last).to_contain_text("cannot be set")
    expect(page.get_by_test_id("start-run")).to_be_disabled()
    page.get_by_test_id("own-variable").last.get_by_role("button").click()
    add_variable(page, "KMP_DUPLICATE_LIB_OK", "TRUE")
    expect(page.get_by_test_id("own-variable").last).to_contain_text("unsafe")
    expect(page.locator("#preview [data-variable=KMP_DUPLICATE_LIB_OK]")).to_contain_text("yours")


def test_variables_and_policy_go_from_the_form_to_the_attempt(
    watched: WatchedPage, dashboard: Dashboard
) -> None:
    page = watched.page
    fill_in(page, dashboard)
    # a refused preview is an answer, which Chromium notes on the console
    watched.errors[:] = [error for error in watched.errors if "422" not in error]
    page.get_by_test_id("start-run").click()
    page.wait_for_url(re.compile(r"/runs/(?!new)[^/]+$"))
    run_id = page.url.rsplit("/", 1)[1]
    dashboard.wait_for_state(run_id, "finished", "failed")
    run = dashboard.run(run_id)
    assert run["policy"] == {"max_attempts": 2, "on_stall": "retry"}
    assert run["environment"].keys() == {"FAISS_NUM_THREADS", "HF_TOKEN", "KMP_DUPLICATE_LIB_OK"}
    assert "hf_secret" not in str(dashboard.get(f"/api/runs/{run_id}/environment"))

    page.route("**/attempts", with_rungs)
    page.reload()
    expect(page.locator("#run-rungs").get_by_test_id("badge-unsafe")).to_be_visible()
    page.get_by_test_id("tab-attempts").click()
    attempt = page.get_by_test_id("attempt")
    expect(attempt).to_contain_text("exit code 0")
    expect(attempt.locator("[data-live=reached]")).to_have_text("20")
    rungs = attempt.get_by_test_id("rung")
    expect(rungs.nth(0)).to_contain_text("Because <b>two</b> runtimes met")
    expect(rungs.nth(0)).to_contain_text(re.compile(r"OMP_WAIT_POLICY\s*not set\s*→\s*PASSIVE"))
    expect(rungs.nth(1).get_by_test_id("badge-numbers")).to_be_visible()
    expect(rungs.nth(1)).to_contain_text(re.compile(r"max_pairs\s*8,000\s*→\s*4,000"))
    attempt.get_by_text("Command and environment").click()
    expect(attempt.locator("[data-variable=KMP_DUPLICATE_LIB_OK]")).to_contain_text("set by you")
    expect(attempt.locator("[data-variable=PYTHONUNBUFFERED] a")).to_have_attribute(
        "href", re.compile("^https://")
    )
    page.goto(f"{dashboard.url}/")
    row = page.locator(f"[data-run={run_id!r}]")
    expect(row.get_by_test_id("badge-unsafe")).to_be_visible()
