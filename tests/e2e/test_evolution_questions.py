"""The questions people come with, answered by clicking and over REST, on a run that was really trained."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.process]

API = "/api/evolution/stdlib"


def test_which_examples_did_it_learn_last(page: Page, dashboard: Dashboard, finished: str) -> None:
    asked = dashboard.get(f"{API}/examples?run={finished}&sort=-learned_at&texts=short")["examples"]
    learned = [one for one in asked if one["learned_at"]]
    assert learned, "the run has learned nothing: the question has no answer"
    latest = {one["example_id"] for one in learned if one["learned_at"] == learned[0]["learned_at"]}

    page.goto(f"{dashboard.url}/evolution/stdlib?run={finished}")
    page.get_by_role("link", name="Dynamics").click()
    shown = page.get_by_test_id("list-last_learned").get_by_role("link")
    expect(shown.first).to_be_visible()
    shown.first.click()
    expect(page.get_by_test_id("example-id")).not_to_be_empty()
    assert page.get_by_test_id("example-id").inner_text() in latest
    expect(page.get_by_test_id("verdict")).to_contain_text(str(learned[0]["learned_at"]))


def test_what_did_it_answer_to_this_one_at_that_step(page: Page, dashboard: Dashboard, finished: str) -> None:
    page.goto(f"{dashboard.url}/evolution/stdlib?run={finished}&step=60")
    page.get_by_test_id("example-row").first.click()
    expect(page.get_by_test_id("step-number")).to_have_text("60")
    name = page.get_by_test_id("example-id").inner_text()
    page.get_by_test_id("step-slider").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("step-number")).to_have_text("50")
    trajectory = dashboard.get(f"{API}/examples/{name}?run={finished}")["trajectory"]
    (then,) = [point for point in trajectory if point["step"] == 50]
    expect(page.get_by_test_id("ranked").first).to_contain_text(then["top"][0]["title"])
    assert then["model_output"]


def test_what_broke_between_two_steps(page: Page, dashboard: Dashboard, finished: str) -> None:
    found = dashboard.get(f"{API}/compare?run={finished}&from=10&to=60")
    page.goto(f"{dashboard.url}/evolution/stdlib?run={finished}")
    page.get_by_role("link", name="Compare").click()
    page.get_by_test_id("from-step").select_option("10")
    page.get_by_test_id("to-step").select_option("60")
    expect(page.get_by_test_id("sentence")).to_have_text(found["sentence"])
    for outcome in ("fixed", "broken"):
        page.get_by_test_id(f"outcome-{outcome}").click()
        expect(page.get_by_test_id("compared")).to_have_count(len(found[outcome]))
    assert sum(found["counts"].values()) == found["to"]["summary"]["total_examples"]
