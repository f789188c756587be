"""The page of one example: of a real run, and of made-up ones of every kind of task."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard
from tests.e2e.snapshots import (
    COMPLETIONS,
    EXAMPLE_STEPS,
    HOSTILE,
    REFERENCE,
    classification,
    language,
    odd,
    retrieval,
    upload_to,
)
from tests.e2e.watched_page import WatchedPage
from tests.waiting import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.process]
TO = "\N{EN DASH}"


@pytest.fixture(scope="session")
def uploaded(dashboard: Dashboard) -> str:
    """A run that has made-up snapshots of four more datasets, one per kind of task."""
    run_id = dashboard.create_run("stdlib.jsonl", name="made-up snapshots", max_steps=1)
    token = dashboard.paths(run_id).token
    wait_for(token.is_file, what="the token of the run, which is there from its launch on")
    made: dict[str, Callable[[str, int], dict[str, Any]]] = {
        "ranked": retrieval,
        "labels": classification,
        "tokens": language,
        "odd <b>": odd,
    }
    for dataset, make in made.items():
        for at in range(len(EXAMPLE_STEPS)):
            upload_to(dashboard, run_id, make(dataset, at))
    return run_id


def open_example(
    page: Page, dashboard: Dashboard, dataset: str, example_id: str = "ex_0000", query: str = ""
) -> None:
    page.goto(f"{dashboard.url}/evolution/{quote(dataset)}/examples/{quote(example_id, safe='')}{query}")
    expect(page.locator("#content")).to_be_visible()


def test_a_real_example_tells_what_the_api_knows(page: Page, dashboard: Dashboard, finished: str) -> None:
    listed = dashboard.get(f"/api/evolution/stdlib/examples?run={finished}")["examples"]
    known = next((one for one in listed if one["category"] == "learned"), listed[1])
    way = dashboard.get(f"/api/evolution/stdlib/examples/{quote(known['example_id'])}?run={finished}")
    points = way["trajectory"]
    open_example(page, dashboard, "stdlib", known["example_id"], f"?run={finished}&step=25")
    expect(page.get_by_test_id("example-input")).to_have_text(known["input"])
    expect(page.get_by_test_id("example-expected")).to_have_text(known["expected_output"])
    if known["learned_at"]:
        expect(page.get_by_test_id("verdict")).to_contain_text(f"Learned at step {known['learned_at']}")

    at = next(index for index, point in enumerate(points) if point["step"] == 25)
    expect(page.get_by_test_id("step-number")).to_have_text("25")
    found = page.locator(".ranked-title")
    expect(found).to_have_text([one["title"] for one in points[at]["top"]])
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("step-number")).to_have_text(str(points[at + 1]["step"]))
    expect(found).to_have_text([one["title"] for one in points[at + 1]["top"]])
    expect(page).to_have_url(re.compile(f"step={points[at + 1]['step']}"))

    page.locator("#next-example").click()
    expect(page.get_by_test_id("example-id")).to_have_text(way["next"])
    expect(page.get_by_test_id("step-number")).to_have_text(str(points[at + 1]["step"]))
    back = page.locator("#back").get_attribute("href")
    assert back == f"/evolution/stdlib?run={finished}&step={points[at + 1]['step']}"


def test_a_snapshot_is_chosen_by_slider_keys_click_and_link(
    page: Page, dashboard: Dashboard, uploaded: str
) -> None:
    open_example(page, dashboard, "ranked", query="?step=125")
    step, slider = page.get_by_test_id("step-number"), page.get_by_test_id("step-slider")
    expect(step).to_have_text("125")
    expect(slider).to_have_attribute("aria-valuetext", "step 125, wrong")
    page.keyboard.press("End")
    expect(step).to_have_text("250")
    expect(page.get_by_test_id("step-state")).to_contain_text("Right")
    slider.press("ArrowLeft")
    expect(step).to_have_text("200")
    picture = page.get_by_test_id("chart-loss").locator("svg")
    box = picture.bounding_box()
    assert box
    page.mouse.click(box["x"] + 50, box["y"] + 60)
    expect(step).to_have_text("100")
    slider.fill("3")
    expect(step).to_have_text("150")
    page.reload()
    expect(step).to_have_text("150")
    page.get_by_test_id("answer").filter(has_text=f"Steps 200{TO}250").get_by_role("button").first.click()
    expect(step).to_have_text("250")
    expect(page.get_by_test_id("answer").last).to_have_attribute("aria-current", "step")


def test_space_plays_from_the_start_and_stops_at_the_end(
    page: Page, dashboard: Dashboard, uploaded: str
) -> None:
    open_example(page, dashboard, "ranked")
    step, play = page.get_by_test_id("step-number"), page.get_by_test_id("play")
    expect(step).to_have_text("250")
    page.keyboard.press("Space")
    expect(play).to_have_attribute("aria-label", "Pause")
    expect(step).not_to_have_text("250")
    expect(step).to_have_text("250", timeout=30_000)
    expect(play).to_have_attribute("aria-label", "Play")


def test_documents_enter_climb_and_leave(page: Page, dashboard: Dashboard, uploaded: str) -> None:
    open_example(page, dashboard, "ranked", query="?step=150")
    now = retrieval("ranked", 3)["outputs"][0]["top"]
    before = retrieval("ranked", 2)["outputs"][0]["top"]
    expect(page.locator(".ranked-row")).to_have_count(10)
    gold = page.get_by_test_id("ranked-gold")
    expect(gold).to_contain_text("heapq.merge")
    expect(gold.locator(".move")).to_have_text("▲up by 5")
    left = {name for name, _ in before} - {name for name, _ in now}
    for name in left:
        expect(page.get_by_test_id("left")).to_contain_text(f"module.function_{name}")
    expect(page.locator('.move[data-move="new"]')).to_have_count(
        len({name for name, _ in now} - {name for name, _ in before})
    )

    chart = page.get_by_test_id("bump-chart")
    gold.hover()
    expect(chart.locator(".bump.is-gold")).to_have_class(re.compile("is-lit"))
    box = chart.locator("svg").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 24)  # the first place of the newest snapshot
    expect(chart.locator(".step-chart-words")).to_contain_text("heapq.merge · right · place 1 at step 250")
    page.get_by_test_id("bump-table").locator("summary").click()
    rows = page.get_by_test_id("bump-table").locator("tbody tr")
    expect(rows).to_have_count(len(EXAMPLE_STEPS))
    expect(rows.last.locator("td").nth(1)).to_contain_text("★ heapq.merge")


def test_a_classifier_shows_its_probabilities_and_what_it_took_the_example_for(
    page: Page, dashboard: Dashboard, uploaded: str
) -> None:
    open_example(page, dashboard, "labels", query="?step=126")
    bands = page.get_by_test_id("bands").locator("li")
    expect(bands).to_have_count(9)  # the right label, seven others, and all others
    expect(bands.first).to_contain_text("heapq")
    expect(bands.first).to_contain_text("20.0 %")
    expect(bands.filter(has_text="its answer")).to_contain_text("csv")
    expect(page.get_by_test_id("ribbon").locator(".band-area")).to_have_count(9)
    said = page.get_by_test_id("said").locator("tbody tr")
    expect(said).to_have_count(3)
    expect(said.filter(has_text="heapq")).to_contain_text(f"151{TO}251")
    expect(said.filter(has_text="json")).to_contain_text(f"101{TO}111")
    expect(page.get_by_test_id("chart-probability")).to_be_visible()


def test_a_language_model_shows_its_tokens_and_what_changed(
    page: Page, dashboard: Dashboard, uploaded: str
) -> None:
    open_example(page, dashboard, "tokens", query="?step=252")
    expect(page.get_by_test_id("tokens")).to_have_text("".join(REFERENCE))
    expect(page.get_by_test_id("written").locator("del")).to_have_text(" the")
    page.get_by_test_id("heat-change").click()
    lost = page.get_by_test_id("tokens").locator(".token[data-change^='-']")
    expect(lost).to_have_text([" a"])
    expect(page.get_by_test_id("movers")).to_contain_text("Lost most since step 202")

    answers = page.get_by_test_id("answer")
    expect(answers).to_have_count(len(set(COMPLETIONS)))
    expect(answers.nth(1)).to_contain_text(f"Steps 112{TO}127")
    expect(answers.nth(1)).to_contain_text("the same answer 2 times")
    expect(answers.nth(2).locator("ins")).to_have_text(" of the names")
    page.get_by_test_id("answers-plain").click()
    expect(answers.nth(2).locator("ins")).to_have_count(0)
    expect(answers.nth(2)).to_contain_text(COMPLETIONS[3])


def test_hostile_and_very_long_texts_are_shown_as_text(
    page: Page, dashboard: Dashboard, uploaded: str
) -> None:
    example_id = odd("odd <b>", 0)["probes"]["examples"][0]["example_id"]
    open_example(page, dashboard, "odd <b>", example_id, "?step=153")
    expect(page.get_by_test_id("example-id")).to_have_text(example_id)
    shown = "<img src=x onerror=alert(1)><script>alert(2)</script> ␛[31mred␛[0m [U+202E]gnp.exe"
    assert HOSTILE.startswith(shown[:50])
    expect(page.get_by_test_id("example-input")).to_contain_text(shown)
    expect(page.get_by_test_id("written")).to_contain_text(shown)
    expected = page.get_by_test_id("example-expected")
    assert len(expected.inner_text()) < 2000
    page.get_by_role("button", name="Show all 1,000,000 characters").first.click()
    assert len(expected.text_content() or "") == 1_000_000
    page.get_by_role("button", name="Show less").click()
    assert len(expected.inner_text()) < 2000
    expect(page.get_by_test_id("chart-loss")).to_be_visible()  # with gaps where there was no number

    open_example(page, dashboard, "odd <b>", "folder/plain?&#%")
    expect(page.get_by_test_id("verdict")).to_have_text("Right from the first snapshot on.")
    expect(page.get_by_test_id("chart-loss")).to_have_count(0)  # nobody reported one


def test_a_new_snapshot_comes_in_without_moving_anything(
    page: Page, dashboard: Dashboard, uploaded: str
) -> None:
    for at in range(3):
        upload_to(dashboard, uploaded, {**retrieval("growing", at), "step": 1000 + at})
    open_example(page, dashboard, "growing", query="?step=1001")
    expect(page.get_by_test_id("link-state")).to_have_attribute("data-link", "live")
    answers = page.get_by_test_id("answers")
    answers.scroll_into_view_if_needed()
    page.evaluate("document.querySelector('[data-testid=answer] summary').click()")
    expect(page.locator(".document-text[open]")).to_have_count(1)
    scrolled = page.evaluate("scrollY")
    assert scrolled > 0
    upload_to(dashboard, uploaded, {**retrieval("growing", 4), "step": 1003})
    note = page.get_by_test_id("new-snapshot")
    expect(note).to_contain_text("step 1,003")
    expect(page.get_by_test_id("step-slider")).to_have_attribute("max", "3")
    expect(page.get_by_test_id("step-number")).to_have_text("1,001")
    expect(page.get_by_test_id("answer")).to_have_count(2)
    expect(page.locator(".document-text[open]")).to_have_count(1)
    assert page.evaluate("scrollY") == scrolled
    note.get_by_role("button").click()
    expect(page.get_by_test_id("step-number")).to_have_text("1,003")
    expect(note).to_be_hidden()


def test_an_unknown_example_names_similar_ones(
    watched: WatchedPage, dashboard: Dashboard, uploaded: str
) -> None:
    watched.may_lose_its_server = True  # a 404 is written to the console too
    page = watched.page
    page.goto(f"{dashboard.url}/evolution/ranked/examples/ex_9")
    expect(page.locator("#nothing")).to_contain_text("ex_9")
    expect(page.locator("#nothing-hint")).to_contain_text("ex_0001")
    expect(page.locator("#content")).to_be_hidden()
    page.locator("#nothing").get_by_role("link").click()
    page.wait_for_url(re.compile(r"/evolution/ranked$"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_example_scrolls_sideways(
    page: Page, dashboard: Dashboard, uploaded: str, scheme: str, width: int
) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 800})
    for dataset in ("ranked", "labels", "tokens", "odd <b>"):
        example_id = f"<b>{HOSTILE[:40]}" if dataset == "odd <b>" else "ex_0000"
        open_example(page, dashboard, dataset, example_id)
        expect(page.get_by_test_id("answer").first).to_be_visible()
        overflow = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow <= 0, f"{dataset} at {width} px"
