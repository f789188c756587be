"""A CSV with odd column names goes from the browser to a finished run that keeps the hash of what it read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard

pytestmark = pytest.mark.browser


def odd_csv(path: Path) -> Path:
    rows = [f'{n},"what does thing {n} do",it does {n} things,{n % 7}\n' for n in range(60)]
    path.write_text('"",Wording,Reaction,Shelf\n' + "".join(rows))
    return path


def test_an_odd_csv_is_mapped_registered_and_trained_on(
    page: Page, dashboard: Dashboard, tmp_path: Path
) -> None:
    page.goto(f"{dashboard.url}/datasets")
    page.get_by_test_id("dataset-file").set_input_files(odd_csv(tmp_path / "Odd Pairs.csv"))
    expect(page.get_by_test_id("dataset-verdict")).to_contain_text("say what it holds", timeout=30_000)
    expect(page.get_by_test_id("register-dataset")).to_be_disabled()
    page.get_by_test_id("dataset-kind").select_option("pairs")
    for role, column in {"query": "Wording", "document": "Reaction", "group": "Shelf"}.items():
        page.get_by_test_id(f"role-{role}").select_option(column)
        expect(page.locator("#adding-status")).to_have_text("", timeout=30_000)
    expect(page.get_by_test_id("dataset-verdict")).to_contain_text("All 60 rows can be read")
    page.get_by_test_id("register-dataset").click()
    page.get_by_test_id("registered-datasets").get_by_role("link", name="odd-pairs").click()
    expect(page.get_by_test_id("dataset-versions")).to_contain_text("query = Wording")
    page.get_by_test_id("train-on").click()
    for name, value in {"max_steps": 3, "batch_size": 8, "num_buckets": 256, "dim": 8}.items():
        page.get_by_test_id(f"param-{name}").evaluate(
            "(field, value) => { field.value = value; }", str(value)
        )
    page.get_by_test_id("param-max_steps").fill("3")
    page.get_by_test_id("start-run").click()
    page.wait_for_url(re.compile(r"/runs/(?!new)[^/]+$"), timeout=60_000)
    run = dashboard.wait_for_state(page.url.rsplit("/", 1)[1], "finished", "failed", timeout_s=90)
    assert run["state"] == "finished"
    page.get_by_test_id("tab-config").click()
    expect(page.get_by_test_id("dataset-hash")).to_have_text(run["dataset_hash"])
    expect(page.get_by_test_id("dataset-status")).to_contain_text("still holds what this run has read")


def test_a_bad_file_is_refused_with_row_and_remedy(page: Page, dashboard: Dashboard, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_bytes(b"query,document\na,b\n\xff,c\n")
    page.goto(f"{dashboard.url}/datasets")
    page.get_by_test_id("dataset-file").set_input_files(bad)
    verdict = page.get_by_test_id("dataset-verdict")
    expect(verdict).to_contain_text("bad.csv, line 3: byte 1 of the line (0xff) is not UTF-8", timeout=30_000)
    expect(page.get_by_test_id("register-dataset")).to_be_disabled()


def test_the_bars_of_labels_are_as_long_as_the_labels_are_frequent(
    page: Page, dashboard: Dashboard, tmp_path: Path
) -> None:
    path = tmp_path / "tickets.csv"
    path.write_text(
        "text,label\n" + "".join(f"ticket {n},{'rare' if n % 4 == 0 else 'frequent'}\n" for n in range(80))
    )
    page.goto(f"{dashboard.url}/datasets")
    page.get_by_test_id("dataset-file").set_input_files(path)
    bars = page.locator(".label-bar span")
    expect(bars).to_have_count(2, timeout=30_000)
    frequent, rare = (bars.nth(place).bounding_box() for place in (0, 1))
    assert frequent is not None
    assert rare is not None
    assert rare["width"] == pytest.approx(frequent["width"] / 3, rel=0.02)


def test_the_form_asks_for_the_columns_of_a_file_that_nobody_has_registered(
    page: Page, dashboard: Dashboard
) -> None:
    (dashboard.instance / "datasets").mkdir(exist_ok=True)
    odd_csv(dashboard.instance / "datasets" / "unnamed.csv")
    usual = dashboard.instance / "datasets" / "usual.csv"
    usual.write_text("query,document\n" + "".join(f"what is {n},it is {n}\n" for n in range(30)))
    page.goto(f"{dashboard.url}/runs/new?recipe=two_tower")
    choice = page.get_by_test_id("columns-choice")
    page.locator("#dataset").select_option(label="Another file…")
    page.locator("#dataset-path").fill("usual.csv")
    expect(page.get_by_test_id("start-run")).to_be_enabled(timeout=30_000)
    expect(choice).to_be_hidden(timeout=30_000)
    page.locator("#dataset-path").fill("unnamed.csv")
    expect(page.get_by_test_id("columns-words")).to_contain_text("say which is what", timeout=30_000)
    expect(page.get_by_test_id("start-run")).to_be_disabled()
    for role, column in {"query": "Wording", "document": "Reaction", "group": "Shelf"}.items():
        page.get_by_test_id(f"column-{role}").select_option(column)
    expect(page.get_by_test_id("start-run")).to_be_enabled(timeout=30_000)
    page.locator("#recipe").select_option("text_classification")
    expect(page.get_by_test_id("column-label")).to_be_visible(timeout=30_000)
    page.locator("#recipe").select_option("two_tower")
    expect(page.get_by_test_id("column-query")).to_be_visible(timeout=30_000)
    for role, column in {"query": "Wording", "document": "Reaction"}.items():
        page.get_by_test_id(f"column-{role}").select_option(column)
    for name, value in {"max_steps": "2", "batch_size": "8", "dim": "8"}.items():
        page.get_by_test_id(f"param-{name}").fill(value)
    page.get_by_test_id("start-run").click()
    page.wait_for_url(re.compile(r"/runs/(?!new)[^/]+$"), timeout=90_000)
    run_id = page.url.rsplit("/", 1)[1]
    assert dashboard.wait_for_state(run_id, "finished", "failed", timeout_s=90)["state"] == "finished"
    told = dashboard.get(f"/api/runs/{run_id}/dataset")
    assert {role: told["columns"][role] for role in ("query", "document")} == {
        "query": "Wording",
        "document": "Reaction",
    }
