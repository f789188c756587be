"""Alerts of a real run: on its page and curves, in the list, as notifications, at a webhook."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.app.webhook_receiver import Receiver, receiving
from tests.e2e.dashboard import LIVELY, Dashboard
from tests.e2e.watched_page import WatchedPage, watch
from tests.waiting import wait_for

pytestmark = pytest.mark.browser
NOTES = """
window.notes = [];
window.Notification = class {
  static permission = localStorage.getItem("test.permission") ?? "default";
  static async requestPermission() {
    localStorage.setItem("test.permission", "granted");
    return (this.permission = "granted");
  }
  constructor(title, options) { window.notes.push({ title, ...options }); }
  close() {}
};
"""
LOSS = "chart-train-loss"


def start(dashboard: Dashboard) -> str:
    body = {
        "recipe": "two_tower",
        "dataset": "stdlib.jsonl",
        "name": "watched",
        "params": LIVELY,
        "policy": {"stall_after_s": 5, "max_attempts": 1},
    }
    return str(dashboard.request("POST", "/api/runs", body).body["id"])


def use_webhook(dashboard: Dashboard, receiver: Receiver) -> None:
    body = {"url": receiver.url, "enabled": True, "secret": "s"}
    assert dashboard.request("PATCH", "/api/settings/webhook", body).status == 200


def titles(*pages: Page) -> list[str]:
    """The notifications of all tabs."""
    return [str(note["title"]) for page in pages for note in page.evaluate("window.notes")]


def test_a_stall_and_a_crash_are_told_everywhere_once(profile: BrowserContext, dashboard: Dashboard) -> None:
    with receiving() as receiver, watch(profile) as first, watch(profile) as second:
        try:
            run_id = tell_a_stall_and_a_crash(dashboard, receiver, first, second)
            draw_where_the_next_attempt_begins(first.page, dashboard, run_id)
        finally:
            dashboard.request("PATCH", "/api/settings/webhook", {"enabled": False})


def tell_a_stall_and_a_crash(
    dashboard: Dashboard, receiver: Receiver, first: WatchedPage, second: WatchedPage
) -> str:
    """Suspend the trainer, let it go on, kill it; returns the run."""
    use_webhook(dashboard, receiver)
    run_id = start(dashboard)
    dashboard.wait_for_step(run_id, 5)
    page, other = first.page, second.page
    for one in (page, other):
        one.add_init_script(NOTES)
    page.goto(f"{dashboard.url}/settings")
    page.get_by_test_id("notify-switch").click()
    expect(page.get_by_test_id("notify-state")).to_have_text("On in this browser.")
    page.goto(f"{dashboard.url}/runs/{run_id}")
    other.goto(dashboard.url)
    row = other.locator(f'[data-run="{run_id}"]')
    expect(row.get_by_test_id("alert-count")).to_be_hidden()

    pid = dashboard.trainer_pid(run_id)
    os.kill(pid, signal.SIGSTOP)
    active = page.get_by_test_id("active-alerts")
    expect(active).to_contain_text("The run does not advance", timeout=30_000)
    expect(row.get_by_test_id("alert-count")).to_have_text("1 alert")
    wait_for(
        lambda: titles(page, other) == ["watched does not advance"], what="one notification of the stall"
    )
    os.kill(pid, signal.SIGCONT)
    expect(active).to_have_count(0, timeout=30_000)
    expect(row.get_by_test_id("alert-count")).to_be_hidden()
    expect(page.get_by_test_id("alerts-over")).to_have_text("1 earlier alert")
    expect(page.get_by_test_id(LOSS).locator(".annotation", has_text="▲")).to_have_count(1)

    os.kill(pid, signal.SIGKILL)
    expect(active).to_contain_text("The run has crashed", timeout=30_000)
    wait_for(lambda: "watched has crashed" in titles(page, other), what="a notification of the crash")
    assert len(titles(page, other)) == 2
    what = [(message["category"], message["what"]) for message in receiver.messages]
    assert what == [("stall", "raised"), ("stall", "resolved"), ("crash", "raised")]
    assert receiver.messages[0]["url"] == f"{dashboard.url}/runs/{run_id}"
    assert receiver.messages[0]["name"] == "watched"

    active.get_by_role("button", name="Dismiss").click()
    expect(active).to_have_count(0)
    assert dashboard.run(run_id)["active_alerts"] == 0
    return run_id


def draw_where_the_next_attempt_begins(page: Page, dashboard: Dashboard, run_id: str) -> None:
    """Start the run again and point at its curve while that goes on moving."""
    assert dashboard.order(run_id, "retry").status == 202
    dashboard.wait_for_step(run_id, 5)
    expect(page.get_by_test_id(LOSS).locator(".annotation", has_text="▸")).to_have_count(1, timeout=30_000)
    boundary = page.get_by_test_id(LOSS).locator(".annotation", has_text="▸").first
    hover = page.get_by_test_id(LOSS).locator(".hoverlayer")

    def is_told() -> bool:
        with contextlib.suppress(PlaywrightTimeout):  # the mark moves until somebody points at it
            boundary.hover(timeout=2_000)
        return "attempt 2, from step" in (hover.text_content() or "")

    wait_for(is_told, what="the words of the marker", timeout_s=30)
    expect(hover).to_contain_text("attempt 2, from step")
    page.locator("#markers").click()
    expect(page.get_by_test_id(LOSS).locator(".annotation")).to_have_count(0)
    page.locator("#markers").click()
    dashboard.order(run_id, "stop")
    dashboard.wait_for_state(run_id, "stopped")


def test_a_sound_run_has_no_alert(dashboard: Dashboard, finished: str) -> None:
    alerts = dashboard.get(f"/api/runs/{finished}/alerts")["alerts"]
    assert [alert for alert in alerts if alert["category"]] == []


def test_the_webhook_is_set_up_and_tried_on_the_settings_page(page: Page, dashboard: Dashboard) -> None:
    with receiving() as receiver:
        page.goto(f"{dashboard.url}/settings")
        toggle = page.get_by_test_id("webhook-switch")
        expect(toggle).to_be_enabled()
        page.get_by_test_id("webhook-url").fill(receiver.url)
        page.get_by_test_id("webhook-test").click()
        expect(page.get_by_test_id("webhook-outcome")).to_have_text("It arrived: answered 204.")
        assert receiver.messages[0]["category"] == "test"
        toggle.click()
        expect(toggle).to_have_attribute("aria-checked", "true")
        toggle.click()
        expect(toggle).to_have_attribute("aria-checked", "false")
