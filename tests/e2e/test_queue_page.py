"""Queue, inbox and ending by hand, as a person uses them in a browser."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.chromium import logged_in
from tests.e2e.dashboard import Dashboard
from tests.e2e.watched_page import watch

pytestmark = pytest.mark.browser
WAIT_MS = 30_000


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory, corpus_text: str) -> Iterator[Dashboard]:
    """A dashboard that runs one thing at a time."""
    instance = tmp_path_factory.mktemp("narrow") / "instance"
    (instance / "datasets").mkdir(parents=True)
    (instance / "datasets" / "stdlib.jsonl").write_text(corpus_text, encoding="utf-8")
    dashboard = Dashboard(instance, max_runs=1)
    try:
        dashboard.start()
        yield dashboard
    finally:
        dashboard.close()


@pytest.fixture
def page(browser: Browser, narrow: Dashboard) -> Iterator[Page]:
    context = logged_in(browser, narrow)
    with watch(context) as watched:
        yield watched.page
    context.close()


def expect_order(page: Page, *wanted: str) -> None:
    expect(page.get_by_test_id("waiting-row").locator(".queue-name a")).to_have_text(
        list(wanted), timeout=WAIT_MS
    )


def test_what_waits_is_arranged_by_mouse_and_keyboard_and_the_next_one_is_let_in(
    page: Page, narrow: Dashboard
) -> None:
    present = narrow.create_run("stdlib.jsonl", name="present")
    narrow.wait_for_step(present, 5)
    for name in ("one", "two", "three"):
        narrow.create_run("stdlib.jsonl", name=name)
    page.goto(f"{narrow.url}/queue")
    expect(page.get_by_test_id("queue-summary")).to_have_text("1 of 1 running, 3 waiting")
    expect_order(page, "one", "two", "three")
    rows = page.get_by_test_id("waiting-row")
    rows.nth(0).get_by_role("button", name="Move one down").click()
    expect_order(page, "two", "one", "three")
    handle = page.get_by_role("button", name=re.compile("Move three, place 3"))
    handle.focus()
    handle.press("ArrowUp")
    expect_order(page, "two", "three", "one")
    expect(page.locator("#queue-said")).to_have_text("three is now at place 2, normal")
    expect(page.get_by_role("button", name=re.compile("Move three, place 2"))).to_be_focused()
    rows.nth(2).locator(".queue-handle").drag_to(rows.nth(0), target_position={"x": 20, "y": 5})
    expect_order(page, "one", "two", "three")
    rows.nth(2).get_by_test_id("queue-priority").select_option("high")
    expect_order(page, "three", "one", "two")
    rows.nth(1).get_by_role("button", name="Take one out of the queue").click()
    expect_order(page, "three", "two")
    assert [run["state"] for run in narrow.get("/api/runs?q=one")["runs"] if run["name"] == "one"] == [
        "stopped"
    ]
    page.get_by_test_id("skip").click()
    expect(page.locator(".toast")).to_contain_text("then “three” starts")
    expect(page.get_by_test_id("active-row").locator(".queue-name a")).to_have_text("three", timeout=60_000)
    expect_order(page, "two")
    assert narrow.wait_for_state(present, "stopped")["exit_code"] == 0


def test_a_run_whose_supervisor_is_gone_shows_its_stop_and_is_marked_by_hand(
    page: Page, narrow: Dashboard
) -> None:
    for run in narrow.get("/api/runs?state=queued,running,starting")["runs"]:
        narrow.order(run["id"], "kill")
        narrow.wait_for_state(run["id"], "stopped")
    run_id = narrow.create_run("stdlib.jsonl", name="out of reach")
    narrow.wait_for_step(run_id, 5)
    supervisor, trainer = narrow.supervisor_pid(run_id), narrow.trainer_pid(run_id)
    refused = narrow.request("POST", f"/api/runs/{run_id}/mark-ended", {"state": "failed"})
    assert refused.status == 409
    assert str(supervisor) in refused.body["error"]["message"]
    os.kill(supervisor, signal.SIGSTOP)
    page.goto(f"{narrow.url}/runs/{run_id}")
    page.get_by_test_id("stop-run").click()
    banner = page.get_by_test_id("end-banner")
    expect(banner).to_contain_text("the order is on its way")
    expect(page.get_by_test_id("kill-run")).to_have_text("Kill now")

    def confirmed(route: Route) -> None:
        response = route.fetch()
        route.fulfill(
            response=response, json=response.json() | {"reason": "asked to stop, killed after 30 s"}
        )

    page.route(f"**/api/runs/{run_id}", confirmed)
    page.reload()
    expect(banner).to_contain_text("asked to save a checkpoint and end")
    page.unroute_all(behavior="wait")  # the page may be asking just now
    os.kill(trainer, signal.SIGKILL)
    os.kill(supervisor, signal.SIGKILL)
    narrow.wait_for_state(run_id, "lost")
    page.get_by_test_id("mark-ended-run").click()
    dialog = page.get_by_test_id("mark-ended")
    dialog.get_by_test_id("mark-state").select_option("failed")
    dialog.get_by_test_id("mark-reason").fill("the cable was cut")
    dialog.get_by_test_id("mark-confirm").click()
    expect(dialog).to_have_count(0)
    expect(banner).to_contain_text("Marked as ended by hand: the cable was cut")
    assert narrow.run(run_id)["state"] == "failed"


def test_the_switch_makes_dropped_datasets_run_and_tells_what_is_wrong_with_others(
    page: Page, narrow: Dashboard, corpus_text: str, tmp_path: Path
) -> None:
    inbox = narrow.instance / "inbox"
    page.goto(f"{narrow.url}/inbox")
    switch = page.get_by_test_id("inbox-switch")
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(page.get_by_test_id("inbox-folder")).to_have_text(str(inbox))
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "true")
    page.get_by_test_id("inbox-recipe").select_option("two_tower")
    page.get_by_test_id("inbox-preset").select_option("quick")
    (tmp_path / "mine.jsonl").write_text(corpus_text, encoding="utf-8")
    (tmp_path / "mine.jsonl").rename(inbox / "high" / "mine.jsonl")
    (inbox / "broken <b>.csv").write_text("nothing\n")
    mine = page.get_by_test_id("inbox-item").filter(has_text="mine.jsonl")
    expect(mine).to_have_attribute("data-state", re.compile("queued|training"), timeout=WAIT_MS)
    expect(mine).to_contain_text("high priority")
    broken = page.get_by_test_id("inbox-item").filter(has_text="broken <b>.csv")
    expect(broken).to_have_attribute("data-state", "failed", timeout=WAIT_MS)
    expect(broken.locator(".inbox-reason")).to_contain_text("column query is missing")
    expect(broken.get_by_test_id("inbox-retry")).to_be_visible(timeout=WAIT_MS)
    (inbox / "quarantine" / "broken__b.csv").write_text("query,document\na,b\nc,d\n")
    broken.get_by_test_id("inbox-retry").click()
    expect(broken).to_have_attribute("data-state", re.compile("queued|training|done|failed"), timeout=WAIT_MS)
    expect(broken.locator(".queue-name a")).to_have_count(1, timeout=WAIT_MS)
    mine.locator(".queue-name a").click()
    expect(page.locator("#run-name")).to_contain_text("mine")
