"""GO or NO-GO on the page of a run, and what the run has left."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard
from trainer.tasks.two_tower.exported import open_export

pytestmark = [pytest.mark.browser, pytest.mark.process]


def test_every_gate_is_shown_with_its_value_and_verdict(
    page: Page, dashboard: Dashboard, finished: str
) -> None:
    judged = dashboard.get(f"/api/runs/{finished}/gates")
    page.goto(f"{dashboard.url}/runs/{finished}")
    panel = page.get_by_test_id("gates")
    expect(panel).to_be_visible()
    words = {"go": "GO", "no-go": "NO-GO", "unknown": "Not measured"}
    expect(page.get_by_test_id("gates-newest")).to_have_text(words[judged["newest"]["verdict"]])
    rows = page.get_by_test_id("gate")
    expect(rows).to_have_count(len(judged["gates"]))
    for gate in judged["gates"]:
        row = panel.locator(f"[data-gate={gate['name']}]")
        expect(row).to_have_attribute("data-verdict", gate["newest"])
        expect(row.get_by_test_id("gate-verdict")).to_have_text(words[gate["newest"]])
    assert {gate["newest"] for gate in judged["gates"]} <= {"go", "no-go"}, "everything was measured"


def test_a_finished_run_has_left_an_export_that_answers(dashboard: Dashboard, finished: str) -> None:
    export = open_export(dashboard.paths(finished).export)
    found = export.find("Return a shallow copy of x", k=5)
    assert len(found) == 5
    assert export.about["run"] == finished
    best = next(
        one
        for one in reversed(dashboard.get(f"/api/runs/{finished}/checkpoints")["checkpoints"])
        if one["best"]
    )
    assert export.about["step"] == best["step"]
