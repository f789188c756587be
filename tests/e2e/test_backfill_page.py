"""A run's checkpoints are asked from its page, its own probes and one that is added there."""

from __future__ import annotations

import json
import urllib.parse

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard

pytestmark = pytest.mark.browser
PATIENCE_MS = 120_000


def test_checkpoints_are_asked_and_what_they_said_is_in_the_evolution(
    page: Page, dashboard: Dashboard, finished: str
) -> None:
    page.goto(f"{dashboard.url}/runs/{finished}#checkpoints")
    page.get_by_test_id("backfill-start").click()
    expect(page.get_by_test_id("backfill-words")).to_contain_text("Checkpoints:", timeout=PATIENCE_MS)
    expect(page.get_by_test_id("backfill-list").locator("li").first).to_be_visible()
    (known,) = [one for one in dashboard.get("/api/evolution/datasets")["datasets"] if one["run"] == finished]
    example = dashboard.get(f"/api/evolution/{known['name']}/snapshot/latest?run={finished}")["examples"][0]

    page.get_by_text("Add a probe").click()
    page.get_by_test_id("probe-input").fill("what nobody has asked <b>yet</b>")
    page.get_by_test_id("probe-expected").fill("no document of this name")
    page.get_by_test_id("probe-add").click()
    expect(page.get_by_test_id("probe-count")).to_contain_text("1 added so far")
    page.get_by_test_id("backfill-start").click()
    expect(page.get_by_test_id("backfill-words")).to_contain_text("row 1", timeout=PATIENCE_MS)

    row = {"input": "what nobody has asked <b>yet</b>", "expected_output": example["gold"]}
    expect(page.get_by_test_id("probe-answers")).to_be_hidden()
    page.get_by_test_id("probe-remove").click()
    expect(page.get_by_test_id("probe-count")).to_contain_text("None added yet")
    expect(page.get_by_test_id("probe-list").locator("li")).to_have_count(0)
    chosen = page.get_by_test_id("probe-file")
    kind = "application/x-ndjson"
    wrong = b'{"input": "a"}\n{"inp'
    chosen.set_input_files({"name": "new.jsonl", "mimeType": kind, "buffer": wrong})
    expect(page.get_by_test_id("backfill-error")).to_contain_text("Line 2 of the file is not JSON")
    chosen.set_input_files({"name": "new.jsonl", "mimeType": kind, "buffer": json.dumps(row).encode()})
    expect(page.get_by_test_id("probe-list").locator("li")).to_contain_text([row["input"]])
    page.get_by_test_id("backfill-start").click()
    expect(page.get_by_test_id("backfill-words")).to_contain_text("asked", timeout=PATIENCE_MS)
    name = urllib.parse.quote(f"{known['name']} (added probes)")
    found = dashboard.get(f"/api/evolution/{name}/snapshots?run={finished}")["snapshots"]
    checkpoints = dashboard.get(f"/api/runs/{finished}/snapshots")["num_checkpoints"]
    assert len(found) == checkpoints
    latest = dashboard.get(f"/api/evolution/{name}/snapshot/latest")
    assert latest["model_version"].endswith("back-filled")
    assert latest["examples"][0]["input"] == row["input"]
    page.get_by_role("link", name="See the answers").click()
    expect(page).to_have_url(
        f"{dashboard.url}/evolution/{name}?run={finished}".replace("%28", "(").replace("%29", ")")
    )
