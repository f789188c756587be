"""A run that hangs is told on its page in words, and goes on by itself when the trainer does."""

from __future__ import annotations

import os
import signal

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.dashboard import LIVELY, Dashboard

pytestmark = pytest.mark.browser
STACKS = {
    "type": "stacks",
    "verdict": "deadlocked",
    "num_threads": 2,
    "text": "Thread 0x01 (most recent call first):\n  beat\n\nCurrent thread 0x02 (most recent call first):\n"
    "  wait",
    "code": "OpenMP",
    "frame": "search (faiss/swigfaiss.py:9)",
    "caller": "mine (recipe/<b>train</b>.py:2)",
}


def add_stacks(route: Route) -> None:
    """A suspended trainer cannot say where it stands: let the page believe that it did."""
    response = route.fetch()
    events = response.json()["events"]
    attempt = events[-1]["attempt"] if events else 1
    route.fulfill(response=response, json={"events": [*events, STACKS | {"attempt": attempt}]})


def test_a_suspended_trainer_is_shown_as_stalled_until_it_is_continued(
    page: Page, dashboard: Dashboard
) -> None:
    body = {
        "recipe": "two_tower",
        "dataset": "stdlib.jsonl",
        "params": LIVELY,
        "policy": {"stall_after_s": 5},
    }
    run_id = str(dashboard.request("POST", "/api/runs", body).body["id"])
    dashboard.wait_for_step(run_id, 5)
    page.route("**/events?types=stall*", add_stacks)
    page.goto(f"{dashboard.url}/runs/{run_id}")
    badge = page.get_by_test_id("run-state").locator(".badge")
    expect(badge).to_have_attribute("data-state", "running")
    pid = dashboard.trainer_pid(run_id)
    os.kill(pid, signal.SIGSTOP)
    expect(badge).to_have_attribute("data-state", "stalled", timeout=30_000)
    expect(page.get_by_test_id("end-banner")).to_contain_text("Suspended from outside")
    expect(page.get_by_test_id("stall-frame")).to_have_text("search (faiss/swigfaiss.py:9)")
    card = page.get_by_test_id("stall")
    expect(card).to_contain_text("<b>train</b>")
    card.get_by_text("Stack of the main thread").click()
    expect(card.locator("pre").first).to_have_text("Current thread 0x02 (most recent call first):\n  wait")
    os.kill(pid, signal.SIGCONT)
    expect(badge).to_have_attribute("data-state", "running", timeout=30_000)
    expect(card).to_have_count(0)
    page.get_by_test_id("tab-events").click()
    expect(page.locator("#panel-events")).to_contain_text("stopped: over, it advances again")
    dashboard.order(run_id, "stop")
    assert dashboard.wait_for_state(run_id, "stopped")["state"] == "stopped"
