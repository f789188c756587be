"""An unmodified script, started from the form in a real browser, draws live charts and can be stopped."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.e2e.dashboard import Dashboard
from tests.e2e.test_browser import line_of, wait_for_step
from tests.trainer.scripts.written import PLAIN, write_script
from tests.waiting import wait_for

pytestmark = pytest.mark.browser
TOML = (
    PLAIN
    + """
title = "A line by descent"
[parameters.rate]
default = 0.1
minimum = 0.001
help = "Step size."
"""
)
PROGRAM = """
import sys, time
weight = 0.0
for step in range(1, 100_000):
    loss = (3.0 - weight) ** 2
    weight += float(sys.argv[2]) * (3.0 - weight)
    print(f"step {step} | loss {loss:.6f} | accuracy {1 - loss / 9:.4f}")
    time.sleep(0.05)
"""


def test_a_script_that_prints_its_loss_shows_live_charts(page: Page, dashboard: Dashboard) -> None:
    write_script(dashboard.instance / "scripts", "descent", toml=TOML, program=PROGRAM)
    write_script(dashboard.instance / "scripts", "broken", toml="")
    page.goto(f"{dashboard.url}/scripts")
    expect(page.get_by_test_id("script-broken")).to_contain_text("is missing")
    page.get_by_test_id("script-descent").get_by_text("New run").click()
    expect(page.get_by_test_id("script")).to_have_value("descent")
    page.get_by_test_id("param-rate").fill("0.01")
    expect(page.locator("#preview")).to_contain_text("train.py --rate 0.01")
    page.get_by_test_id("start-run").click()
    page.wait_for_url(re.compile(r"/runs/(?!new)[^/]+$"), timeout=60_000)
    run_id = page.url.rsplit("/", 1)[1]
    wait_for_step(page, 5)
    first = line_of(page)
    wait_for(lambda: line_of(page) not in (None, first), what="a line that moves")
    expect(page.get_by_text("Recall on held-out groups")).to_have_count(0)
    expect(page.locator(".run-sub")).to_contain_text("script descent", use_inner_text=True)
    expect(page.get_by_test_id("pause-run")).to_have_count(0)
    page.get_by_test_id("stop-run").click()
    expect(page.get_by_test_id("run-state")).to_contain_text("Stopped", timeout=60_000)
    assert dashboard.run(run_id)["script"] == "descent"


def test_an_answer_that_was_overtaken_by_what_was_pushed_is_not_shown(
    page: Page, dashboard: Dashboard
) -> None:
    write_script(dashboard.instance / "scripts", "quick", toml=TOML, program=PROGRAM)
    run_id = dashboard.request("POST", "/api/runs", {"recipe": "script", "script": "quick"}).body["id"]
    page.goto(f"{dashboard.url}/runs/{run_id}")
    wait_for_step(page, 2)
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/stop", lambda route: held.append((route, route.fetch())))
    page.get_by_test_id("stop-run").click()
    expect(page.get_by_test_id("run-state")).to_contain_text("Stopped", timeout=60_000)
    ((route, answer),) = held
    old = answer.json()
    assert old["state"] in ("running", "stopping")
    with page.expect_response("**/stop"):
        route.fulfill(response=answer)
    page.evaluate("() => fetch('/healthz').then((answer) => answer.text())")  # the page has read both by then
    expect(page.get_by_test_id("run-state")).to_contain_text("Stopped")


def test_one_that_dies_says_why(page: Page, dashboard: Dashboard) -> None:
    program = "print('step 1 loss 2.0')\nraise RuntimeError('CUDA out of memory. Tried to allocate 2 GiB')\n"
    write_script(dashboard.instance / "scripts", "dies", program=program)
    body = {"recipe": "script", "script": "dies", "policy": {"max_attempts": 1}}
    run_id = dashboard.request("POST", "/api/runs", body).body["id"]
    dashboard.wait_for_state(run_id, "failed")
    page.goto(f"{dashboard.url}/runs/{run_id}")
    expect(page.locator("#run-finding")).to_contain_text("memory is used up")
