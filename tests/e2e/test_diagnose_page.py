"""The page that explains any log: pasted, or a file of any size, with what else is known of the end."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard

pytestmark = pytest.mark.browser
OOM = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n"


def test_a_log_is_explained_however_it_is_handed_over(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/diagnose")
    found = page.get_by_test_id("findings")
    huge = b"step 1 loss 2.0\n" * 100_000 + OOM.encode()
    page.get_by_test_id("log-file").set_input_files(
        {"name": "train.log", "mimeType": "text/plain", "buffer": huge}
    )
    expect(found).to_contain_text("cuda_oom, almost certain")
    expect(page.locator("#log-note")).to_contain_text("the beginning and the end of 1.")
    expect(page.get_by_test_id("finding-first")).to_contain_text("Tried to allocate 20.00 MiB")
    expect(page.get_by_test_id("finding-rungs")).to_contain_text("train on the CPU")

    page.get_by_test_id("log-text").fill("step 1 loss 2.0\n")
    page.get_by_test_id("exit-code").fill("138")
    page.get_by_test_id("platform").select_option("darwin")
    page.get_by_test_id("diagnose").click()
    expect(found).to_contain_text("SIGBUS")
    page.get_by_test_id("stopped").check()
    page.get_by_test_id("diagnose").click()
    expect(found).to_contain_text("there is nothing to explain")
