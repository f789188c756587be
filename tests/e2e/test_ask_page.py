"""A trained model is asked from the run page, by the box that its recipe declares."""

from __future__ import annotations

import io
import zipfile

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard
from tests.waiting import wait_for

pytestmark = pytest.mark.browser


def trained(dashboard: Dashboard) -> str:
    run_id = dashboard.create_run("stdlib.jsonl", num_epochs=2, eval_every=0, checkpoint_every=0)
    dashboard.wait_for_state(run_id, "finished", timeout_s=120)
    return run_id


@pytest.fixture(scope="module")
def run_id(dashboard: Dashboard) -> str:
    return trained(dashboard)


def models_of(dashboard: Dashboard, run_id: str) -> list[psutil.Process]:
    folder = str(dashboard.paths(run_id).root)
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if "trainer.asking" in command and folder in command:
            found.append(process)
    return found


def test_a_search_box_finds_documents_and_a_wrong_question_is_shown_where_it_is(
    page: Page, dashboard: Dashboard, run_id: str
) -> None:
    page.goto(f"{dashboard.url}/runs/{run_id}#ask")
    page.get_by_test_id("ask-query").fill("copy a file")
    page.get_by_test_id("ask-count").fill("3")
    page.get_by_test_id("ask-query").press("Enter")
    expect(page.get_by_test_id("ask-ranking").locator("li")).to_have_count(3, timeout=60_000)
    expect(page.get_by_test_id("ask-origin")).to_contain_text("to open the model")
    oldest = dashboard.get(f"/api/runs/{run_id}/ask")["checkpoints"][0]["step"]
    page.get_by_test_id("ask-checkpoint").select_option(str(oldest))
    page.get_by_test_id("ask-button").click()
    expect(page.get_by_test_id("ask-origin")).to_contain_text(f"step {oldest}")
    expect(page.get_by_test_id("ask-button")).to_be_enabled()
    page.get_by_test_id("ask-query").fill(" ")
    page.get_by_test_id("ask-button").click()
    expect(page.get_by_test_id("ask-error")).to_contain_text("Find: write something")
    expect(page.get_by_test_id("ask-query")).to_have_attribute("aria-invalid", "true")


def test_what_was_exported_is_listed_and_comes_as_an_archive(
    page: Page, dashboard: Dashboard, run_id: str
) -> None:
    page.goto(f"{dashboard.url}/runs/{run_id}#export")
    kept = dashboard.paths(run_id).root / "export" / "documents.jsonl"
    with page.expect_download() as one:
        page.get_by_role("link", name="documents.jsonl").click()
    assert one.value.path().read_bytes() == kept.read_bytes()
    with page.expect_download() as whole:
        page.get_by_test_id("export-zip").click()
    with zipfile.ZipFile(io.BytesIO(whole.value.path().read_bytes())) as zipped:
        assert zipped.read(f"{run_id}/documents.jsonl") == kept.read_bytes()
        assert f"{run_id}/towers.safetensors" in zipped.namelist()


def test_a_model_ends_with_a_server_that_is_killed(own_dashboard: Dashboard) -> None:
    run_id = trained(own_dashboard)
    body = {"question": {"query": "copy a file"}}
    answer = own_dashboard.request("POST", f"/api/runs/{run_id}/ask", body)
    assert answer.status == 200, answer.body
    assert len(models_of(own_dashboard, run_id)) == 1
    own_dashboard.kill_server()
    wait_for(lambda: not models_of(own_dashboard, run_id), what="end of the model's process")
