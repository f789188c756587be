"""What a person does: log in, start, watch, stop, resume, look at the evolution; in a real Chromium."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.e2e.dashboard import ROOT, Dashboard
from tests.e2e.spool import assert_nothing_is_lost
from tests.e2e.watched_page import watch
from tests.waiting import wait_for

SCREENSHOTS = "SIGNALBOX_SCREENSHOTS"
"""Set it, and the tests renew the pictures of the README in docs/images."""

pytestmark = pytest.mark.browser


def picture(page: Page, name: str) -> None:
    """Renew a picture of the documentation, where somebody asks for it."""
    if os.environ.get(SCREENSHOTS):
        page.screenshot(path=ROOT / "docs" / "images" / f"{name}.png")


def step_of(page: Page) -> int:
    """The step counter as a person reads it."""
    text = page.get_by_test_id("run-step").inner_text()
    return int(re.sub(r"\D", "", text) or 0)


def line_of(page: Page) -> str | None:
    """The drawn path of the loss line."""
    path = page.get_by_test_id("chart-train-loss").locator("path.js-line").first
    return path.get_attribute("d") if path.count() else None


def wait_for_step(page: Page, step: int) -> None:
    """Wait until the page shows ``step`` or a later one, without a reload."""
    wait_for(lambda: step_of(page) >= step, what=f"step {step} on the page")


def start_run(page: Page, dashboard: Dashboard, **parameters: object) -> str:
    """Fill in the new-run form and press Start; returns the run's id."""
    page.goto(f"{dashboard.url}/runs/new?recipe=two_tower")
    page.locator("#dataset").select_option(str((dashboard.instance / "inbox" / "stdlib.jsonl").resolve()))
    page.locator("#name").fill("started by hand")
    for name, value in parameters.items():
        page.get_by_test_id(f"param-{name}").fill(str(value))
    page.get_by_test_id("start-run").click()
    page.wait_for_url(re.compile(r"/runs/(?!new)[^/]+$"))
    return page.url.rsplit("/", 1)[1]


def state_of(page: Page) -> Locator:
    """The badge with the run's state."""
    return page.get_by_test_id("run-state").locator(".badge")


def test_the_printed_link_logs_in_once(browser: Browser, dashboard: Dashboard) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{dashboard.url}/")
        expect(page.get_by_test_id("login")).to_be_visible()
        page.goto(dashboard.printed_link)
        page.wait_for_url(f"{dashboard.url}/")
        expect(page.get_by_role("heading", name="Runs")).to_be_visible()
        assert "code" not in page.url
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(dashboard.printed_link)
        expect(page.get_by_test_id("login")).to_be_visible()


def test_start_watch_stop_and_resume(page: Page, dashboard: Dashboard) -> None:
    run_id = start_run(page, dashboard, batch_size=64, num_epochs=40, num_probes=20)
    expect(state_of(page)).to_have_attribute("data-state", "running", timeout=60_000)
    wait_for_step(page, 10)
    line = wait_for(lambda: line_of(page), what="loss line")
    wait_for_step(page, step_of(page) + 20)
    wait_for(lambda: line_of(page) != line, what="movement of the loss line")
    if os.environ.get(SCREENSHOTS):
        wait_for_step(page, 300)
        picture(page, "run")
    page.get_by_test_id("stop-run").click()
    expect(state_of(page)).to_have_attribute("data-state", "stopped", timeout=60_000)
    expect(page.get_by_test_id("stop-run")).to_have_count(0)
    start = page.get_by_test_id("start-run")
    expect(start).to_be_visible()
    stopped_at = step_of(page)
    assert dashboard.run(run_id)["step"] == stopped_at

    start.click()
    expect(state_of(page)).to_have_attribute("data-state", "running", timeout=60_000)
    wait_for_step(page, stopped_at + 10)
    page.get_by_test_id("stop-run").click()
    expect(state_of(page)).to_have_attribute("data-state", "stopped", timeout=60_000)
    assert_nothing_is_lost(dashboard, run_id)


def test_a_reload_keeps_everything(page: Page, dashboard: Dashboard, finished: str) -> None:
    page.goto(f"{dashboard.url}/runs/{finished}")
    points = page.get_by_test_id("chart-train-loss")
    expect(points).to_have_attribute("data-points", re.compile(r"^[1-9]"))
    before = (step_of(page), points.get_attribute("data-points"), state_of(page).inner_text())
    page.reload()
    expect(points).to_have_attribute("data-points", re.compile(r"^[1-9]"))
    assert (step_of(page), points.get_attribute("data-points"), state_of(page).inner_text()) == before


@pytest.mark.parametrize(
    ("tab", "content"),
    [
        ("log", r"\S"),
        ("config", "batch_size"),
        ("environment", "PYTHONUNBUFFERED"),
        ("checkpoints", "60"),
        ("events", "snapshot"),
        ("attempts", "1"),
    ],
)
def test_every_tab_of_a_run_shows_something(
    page: Page, dashboard: Dashboard, finished: str, tab: str, content: str
) -> None:
    page.goto(f"{dashboard.url}/runs/{finished}")
    page.get_by_test_id(f"tab-{tab}").click()
    expect(page.locator(f"#panel-{tab}")).to_contain_text(re.compile(content))


def test_the_evolution_shows_what_was_retrieved_and_the_gold(
    page: Page, dashboard: Dashboard, finished: str
) -> None:
    page.goto(f"{dashboard.url}/evolution")
    page.locator('[data-testid="dataset-card"][href="/evolution/stdlib"]').click()
    page.wait_for_url(re.compile(r"/evolution/stdlib"))
    page.locator("#run-choice").select_option(finished)
    step = page.get_by_test_id("snapshot-step")
    page.get_by_test_id("snapshot-60").click()
    expect(step).to_have_text("60")
    examples = page.get_by_test_id("example-row")
    expect(examples.first).to_have_attribute("data-step", "60")
    page.locator("#sort").select_option("rank")
    expect(examples.first).to_contain_text(re.compile(r"right one at rank \d"))
    picture(page, "evolution")

    whole = dashboard.get(f"/api/evolution/stdlib/snapshot/60?run={finished}")
    right, wrong = whole["summary"]["correct"], whole["summary"]["incorrect"]
    page.get_by_test_id("filter-correct").click()
    expect(page.locator("#shown")).to_contain_text(f"{right} of {right + wrong} ")
    page.get_by_test_id("filter-incorrect").click()
    expect(page.locator("#shown")).to_contain_text(f"{wrong} of {right + wrong} ")

    deep_link = page.url
    page.goto(f"{dashboard.url}/")
    page.goto(deep_link)
    expect(page.get_by_test_id("snapshot-step")).to_have_text("60")
    expect(page.get_by_test_id("filter-incorrect")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#shown")).to_contain_text(f"{wrong} of {right + wrong} ")
    expect(examples.first).to_have_attribute("data-state", "wrong")


def test_the_browser_reconnects_by_itself_after_the_dashboard_was_killed(
    own_profile: BrowserContext, own_dashboard: Dashboard
) -> None:
    dashboard = own_dashboard
    run_id = dashboard.create_run("stdlib.jsonl", name="the dashboard dies")
    with watch(own_profile) as watched:
        watched.may_lose_its_server = True
        page = watched.page
        page.goto(f"{dashboard.url}/runs/{run_id}")
        link = page.get_by_test_id("link-state")
        expect(link).to_have_attribute("data-link", "live")
        wait_for_step(page, 10)
        dashboard.kill_server()
        expect(link).not_to_have_attribute("data-link", "live")
        seen = step_of(page)
        dashboard.start()
        expect(link).to_have_attribute("data-link", "live", timeout=60_000)
        wait_for_step(page, seen + 20)
        page.get_by_test_id("stop-run").click()
        expect(state_of(page)).to_have_attribute("data-state", "stopped", timeout=60_000)
        total = dashboard.get(f"/api/runs/{run_id}/metrics/train/loss")["total_points"]
        card = page.get_by_test_id("chart-train-loss")
        wait_for(
            lambda: int(card.get_attribute("data-points") or 0) >= min(total, 1000),
            what=lambda: f"{total} points, the chart has {card.get_attribute('data-points')}",
        )
    assert_nothing_is_lost(dashboard, run_id)


def test_markup_in_names_and_texts_is_shown_as_text(page: Page, dashboard: Dashboard) -> None:
    payload = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    lines = (dashboard.instance / "inbox" / "stdlib.jsonl").read_text().splitlines()
    hostile = [re.sub(r'("query": ")', lambda found: found[1] + payload, line) for line in lines]
    (dashboard.instance / "inbox" / "hostile.jsonl").write_text("\n".join(hostile))
    run_id = dashboard.create_run("hostile.jsonl", name=payload, max_steps=3, num_probes=5)
    page.goto(f"{dashboard.url}/")
    expect(page.get_by_test_id("run-row").filter(has_text=payload)).to_be_visible()
    page.goto(f"{dashboard.url}/runs/{run_id}")
    expect(page.get_by_role("heading", level=1)).to_have_text(payload)
    dashboard.wait_for_state(run_id, "finished")
    name = next(
        entry["name"]
        for entry in dashboard.get("/api/evolution/datasets")["datasets"]
        if "hostile" in entry["name"]
    )
    page.goto(f"{dashboard.url}/evolution/{name}")
    expect(page.get_by_test_id("example-row").first).to_contain_text(payload)


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_no_page_scrolls_sideways(
    page: Page, dashboard: Dashboard, finished: str, scheme: str, width: int
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 800})
    for path in ("/", "/runs/new", f"/runs/{finished}", "/evolution", "/doctor"):
        page.goto(dashboard.url + path)
        expect(page.get_by_test_id("link-state")).to_have_attribute("data-link", "live")
        overflow = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow <= 0, f"{path} at {width} px"


def test_pictures_of_the_readme_are_there() -> None:
    assert (Path(ROOT) / "docs" / "images" / "run.png").stat().st_size > 10_000
