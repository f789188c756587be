"""The timeline of an evolution as a person uses it: slider, player, categories, a long list, links, live."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.e2e.chromium import logged_in
from tests.e2e.dashboard import Dashboard
from tests.e2e.snapshots import Made, short_run, upload_to
from tests.e2e.watched_page import WatchedPage, box_of, watch
from tests.waiting import wait_for

pytestmark = pytest.mark.browser
STEPS = [0, 10, 25, 50, 100, 250, 500]
MADE = Made("made <i>set? a b", 600, STEPS)
BEYOND_ITS_ROW = """rows => rows.flatMap((row) => {
  const { top, bottom } = row.getBoundingClientRect();
  return [...row.querySelectorAll("a > *")].map((part) => part.getBoundingClientRect())
    .map((part) => Math.max(top - part.top, part.bottom - bottom));
})"""
HOSTILE = "<img src=x onerror=alert(1)> \u001b[31mred\u0000 \u202eesrever " + "A" * 1_000_000


@pytest.fixture(scope="module")
def run(dashboard: Dashboard) -> str:
    run_id = short_run(dashboard, name="made up")
    for content in MADE.contents():
        upload_to(dashboard, run_id, content)
    return run_id


def address(dashboard: Dashboard, search: str = "", *, dataset: str = MADE.dataset) -> str:
    return f"{dashboard.url}/evolution/{quote(dataset)}{search}"


def rows(page: Page) -> Locator:
    return page.get_by_test_id("example-row")


def row(page: Page, example: int) -> Locator:
    return page.locator(f'[data-testid="example-row"][data-example="ex_{example:05d}"]')


def expect_step(page: Page, step: int) -> None:
    expect(page.get_by_test_id("snapshot-step")).to_have_text(f"{step:,}")


def press(page: Page, button: Locator) -> None:
    """Click as a pointer does: Playwright's own click scrolls what sticks to the top of the page."""
    box = box_of(button)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def top_of(page: Page, example: int) -> float:
    """Where on the screen a row stands."""
    return box_of(row(page, example))["y"]


def right_at(step: int) -> int:
    return sum(MADE.is_right(n, STEPS.index(step)) for n in range(MADE.num_examples))


def test_slider_keys_buttons_and_pointer_choose_the_snapshot(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    page.goto(address(dashboard, "?step=50"))
    slider = page.get_by_role("slider", name="Snapshot")
    share = round(100 * right_at(50) / MADE.num_examples)
    expect(slider).to_have_attribute("aria-valuetext", f"step 50, {share} % correct")
    page.keyboard.press("ArrowRight")
    expect_step(page, 100)
    expect(row(page, 0)).to_have_attribute("data-step", "100")
    page.keyboard.press("End")
    expect_step(page, 500)
    expect(page.locator("#next")).to_be_disabled()
    page.keyboard.press("Home")
    expect_step(page, 0)
    page.get_by_test_id("snapshot-25").click()
    expect_step(page, 25)
    page.locator("#previous").click()
    expect_step(page, 10)
    expect(page).to_have_url(re.compile(r"step=10"))
    first, last = page.get_by_test_id("snapshot-0"), page.get_by_test_id("snapshot-500")
    start, end = box_of(first), box_of(last)
    page.mouse.move(start["x"] + 2, start["y"] + 20)
    page.mouse.down()
    page.mouse.move(end["x"] + 2, end["y"] + 20, steps=5)
    page.mouse.up()
    expect_step(page, 500)


def test_a_click_on_the_curve_jumps_and_the_slider_moves_its_mark(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    page.goto(address(dashboard, "?step=first"))
    curve, mark = page.locator("#curve"), page.locator(".curve-mark")
    expect(mark).to_be_visible(timeout=20_000)  # the charts' library comes after the first rows
    at_first, box = box_of(mark)["x"], box_of(curve.locator(".nsewdrag").first)
    page.mouse.click(box["x"] + box["width"] * 0.97, box["y"] + box["height"] / 2)
    expect_step(page, 500)
    half = box["width"] / 2
    at_last = wait_for(lambda: (x := box_of(mark)["x"]) > at_first + half and x, what="the mark at the last")
    page.keyboard.press("ArrowLeft")
    expect_step(page, 250)
    wait_for(lambda: at_first < box_of(mark)["x"] < at_last, what="the mark in the middle")


def test_it_plays_to_the_end_and_pauses_with_the_space_bar(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    page.goto(address(dashboard, "?step=first"))
    expect(rows(page).first).to_have_attribute("data-step", "0")
    page.locator("#speed").select_option("0.5")  # slow, so that it is not over before the bar is pressed
    play = page.get_by_test_id("play")
    play.click()
    expect(play).to_have_attribute("aria-label", "Pause")
    page.locator("h1").click()
    page.keyboard.press("Space")
    expect(play).to_have_attribute("aria-label", "Play")
    expect(page).not_to_have_url(re.compile(r"play="))
    page.locator("#speed").select_option("4")
    page.locator("h1").click()
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile(r"play=4"))
    expect_step(page, 500)
    expect(play).to_have_attribute("aria-label", "Play")
    expect(rows(page).first).to_have_attribute("data-step", "500")


def test_the_overview_says_how_far_it_has_come_and_what_chance_would_give(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    page.goto(address(dashboard, "?step=500"))
    correct = page.get_by_test_id("measure-accuracy")
    gained = 100 * (right_at(500) - right_at(0)) / MADE.num_examples
    lately = 100 * (right_at(500) - right_at(250)) / MADE.num_examples
    expect(correct).to_contain_text(f"{right_at(500)} of 600")
    expect(correct).to_contain_text(f"+{gained:.1f} points, better since the first")
    expect(correct.locator(".measure-change").nth(1)).to_contain_text("since step 250")
    expect(correct.locator(".change").nth(1)).to_have_attribute("data-tone", "good" if lately > 0 else "bad")
    expect(correct).to_contain_text("by chance 0.17 %, one of 600")
    expect(page.get_by_test_id("measure-avg_loss")).to_contain_text("better")
    expect(page.get_by_test_id("capture-cost")).to_contain_text("7 snapshots cost")


def test_categories_filter_the_list_and_their_counts_add_up(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    page.goto(address(dashboard))
    chips = page.locator(".category-chip strong")
    expect(chips.first).to_have_text("120")
    assert sum(int(text) for text in chips.all_inner_texts()) == MADE.num_examples
    forgotten = page.get_by_test_id("category-forgotten")
    forgotten.click()
    expect(page.locator("#shown")).to_have_text("120 of 600 examples")
    expect(page.locator("#category-help")).to_have_text("Wrong now, although it was right before.")
    expect(rows(page).first).to_have_attribute("data-category", "forgotten")
    expect(rows(page).first).to_contain_text(re.compile(r"forgotten at step \d+"))
    page.locator("#group").select_option("module 3")
    expect(page.locator("#shown")).to_have_text("30 of 600 examples")
    page.get_by_test_id("filter-correct").click()
    expect(page.locator("#no-match")).to_be_visible()
    page.locator("#show-all").click()
    expect(page.locator("#shown")).to_have_text("600 examples")


def test_right_and_wrong_are_those_of_the_chosen_step(page: Page, dashboard: Dashboard, run: str) -> None:
    page.goto(address(dashboard, "?step=100&filter=correct"))
    expect(page.locator("#shown")).to_have_text(f"{right_at(100)} of 600 examples")
    expect(rows(page).first).to_have_attribute("data-state", "right")
    page.keyboard.press("Home")
    expect(page.locator("#no-match")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("#shown")).to_have_text(f"{right_at(500)} of 600 examples")


def test_the_list_sorts_searches_and_exists_only_where_one_looks(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    page.goto(address(dashboard, "?step=500"))
    expect(row(page, 0)).to_be_visible()
    assert rows(page).count() < 40
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(row(page, 599)).to_be_in_viewport()
    expect(row(page, 599)).to_have_attribute("aria-posinset", "600")
    expect(row(page, 599).locator(".row-answer")).to_contain_text("doc")
    assert rows(page).count() < 40
    page.locator("#sort").select_option("learned_at")
    expect(rows(page).first).to_contain_text("learned at step")
    worst = dashboard.get(f"/api/evolution/{quote(MADE.dataset)}/snapshot/500?run={run}&sort=-loss&limit=1")[
        "examples"
    ][0]
    page.locator("#sort").select_option("-loss")
    expect(rows(page).first).to_have_attribute("data-example", worst["example_id"])
    page.locator("#search").fill("number 123?")
    expect(page.locator("#shown")).to_have_text("1 of 600 examples")
    expect(row(page, 123)).to_be_visible()


def test_the_search_finds_what_was_answered_and_an_example_leads_on_in_the_list(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    def found_first(document: int, step: int) -> list[str]:
        index = STEPS.index(step)
        firsts = [n if MADE.is_right(n, index) else (n + 1 + index) % 600 for n in range(600)]
        return [f"ex_{n:05d}" for n, first in enumerate(firsts) if f"{first}".startswith(str(document))]

    page.goto(address(dashboard, "?step=100"))
    page.locator("#search").fill("TEXT 12")
    expect(page.locator("#shown")).to_have_text(f"{len(found_first(12, 100))} of 600 examples")
    page.locator("#sort").select_option("-loss")
    expect(page).to_have_url(re.compile("sort=-loss"))
    page.goto(page.url.replace("step=100", "step=10"))
    ids = [
        one["example_id"]
        for one in dashboard.get(
            f"/api/evolution/{quote(MADE.dataset)}/examples?step=10&q=text%2012&sort=-loss"
        )["examples"]
    ]
    assert sorted(ids) == found_first(12, 10) != found_first(12, 100)
    expect(page.locator("#shown")).to_have_text(f"{len(ids)} of 600 examples")
    expect(rows(page).nth(1)).to_have_attribute("data-example", ids[1])
    rows(page).nth(1).click()
    expect(page.get_by_test_id("example-id")).to_have_text(ids[1])
    expect(page.get_by_test_id("example-place")).to_have_text(f"2 of {len(ids)}")
    page.locator("#next-example").click()
    for place in (2, 1, 0):
        expect(page.get_by_test_id("example-id")).to_have_text(ids[place])
        expect(page.get_by_test_id("example-place")).to_have_text(f"{place + 1} of {len(ids)}")
        page.keyboard.press("k")
    expect(page.locator("#previous-example")).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("End")
    expect(page.get_by_test_id("step-number")).to_have_text("500")
    expect(page.get_by_test_id("example-place")).to_have_text(f"1 of {len(ids)}")
    page.locator("#back").click()
    expect_step(page, 500)
    expect(page.locator("#search")).to_have_value("TEXT 12")
    expect(page.locator("#sort")).to_have_value("-loss")


def test_a_list_that_is_gone_does_not_hide_the_example(
    watched: WatchedPage, dashboard: Dashboard, run: str
) -> None:
    watched.may_lose_its_server = True  # a 404 is written to the console too
    page = watched.page
    for search in ("?category=learned&q=nowhere", "?filter=correct&at=60"):  # not in it; no such step
        page.goto(address(dashboard, f"/examples/ex_00003{search}"))
        expect(page.get_by_test_id("example-place")).to_have_text("4 of 600")


def test_the_keyboard_walks_through_the_rows_and_opens_one(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    page.goto(address(dashboard, "?step=100"))
    expect(row(page, 0)).to_have_attribute("data-step", "100")
    page.keyboard.press("j")
    expect(row(page, 0).locator("a")).to_be_focused()
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    expect(row(page, 30).locator("a")).to_be_focused()
    expect(row(page, 30)).to_be_in_viewport(ratio=1)
    page.keyboard.press("k")
    page.keyboard.press("ArrowRight")
    expect_step(page, 250)
    expect(row(page, 29).locator("a")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/examples/ex_00029\?.*step=250"))
    before = page.url
    page.go_back()
    expect(row(page, 29)).to_be_in_viewport()
    assert before != page.url


def test_every_choice_is_in_the_address_and_the_back_button_takes_it_back(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    page.goto(address(dashboard))
    expect(rows(page).first).to_have_attribute("data-step", "500")
    page.get_by_test_id("category-learned").click()
    for key in ("Home", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect_step(page, 25)
    page.locator("#sort").select_option("-num_forgotten")
    link = page.url
    assert re.search(r"step=25.*category=learned.*sort=-num_forgotten", link)
    page.go_back()
    expect(page.locator("#sort")).to_have_value("")
    expect_step(page, 25)
    page.go_back()  # all moves along the timeline are one step back
    expect_step(page, 500)
    expect(page.get_by_test_id("category-learned")).to_have_attribute("aria-pressed", "true")
    page.go_back()
    expect(page.get_by_test_id("category-learned")).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#shown")).to_have_text("600 examples")
    page.goto(link)
    expect_step(page, 25)
    expect(page.locator("#sort")).to_have_value("-num_forgotten")
    expect(page.locator("#shown")).to_have_text("120 of 600 examples")


def test_a_step_without_a_snapshot_shows_the_nearest_and_says_so(
    page: Page, dashboard: Dashboard, run: str
) -> None:
    page.goto(address(dashboard, "?step=60"), wait_until="commit")  # words of passage
    expect(page.locator("#toasts")).to_contain_text("no snapshot at step 60", timeout=20_000)
    expect_step(page, 50)


def test_a_new_snapshot_slides_in_without_moving_what_one_looks_at(page: Page, dashboard: Dashboard) -> None:
    run_id = short_run(dashboard, name="grows")
    made = Made("growing", 300, STEPS)
    for index in range(5):
        upload_to(dashboard, run_id, made.content(index))
    page.goto(address(dashboard, "?step=25", dataset="growing"))
    expect(rows(page).first).to_have_attribute("data-step", "25")
    page.evaluate("scrollTo(0, 6000)")
    expect(rows(page).nth(8)).to_have_attribute("data-step", "25")
    kept = top_of(page, 70)
    names = rows(page).evaluate_all("rows => rows.map((row) => row.dataset.example)")
    expect(page.get_by_test_id("link-state")).to_have_attribute("data-link", "live")
    upload_to(dashboard, run_id, made.content(5))
    expect(page.get_by_test_id("snapshot-250")).to_be_attached()
    expect(page.locator("#new-snapshot")).to_contain_text("New: step 250")
    expect_step(page, 25)
    assert abs(top_of(page, 70) - kept) <= 1
    assert rows(page).evaluate_all("rows => rows.map((row) => row.dataset.example)") == names
    press(page, page.locator("#new-snapshot button"))
    expect_step(page, 250)
    assert abs(top_of(page, 70) - kept) <= 1
    press(page, page.locator("#follow-latest"))
    upload_to(dashboard, run_id, made.content(6))
    expect_step(page, 500)
    expect(rows(page).nth(8)).to_have_attribute("data-step", "500")
    assert abs(top_of(page, 70) - kept) <= 1


def test_hostile_texts_are_shown_as_text_and_cut(page: Page, dashboard: Dashboard) -> None:
    run_id = short_run(dashboard, name="hostile")
    examples = [
        {"example_id": f"<b>{n}</b>", "input": HOSTILE, "expected_output": HOSTILE, "group": "<u>g</u>"}
        for n in range(3)
    ]
    content: dict[str, Any] = {
        "format": 1, "task": "language_model", "dataset": "<img src=x onerror=alert(1)>", "step": 0, "t": 1.0,
        "model_version": "x", "probe_set": "hostile",
        "columns": {"loss": ["NaN", 1.0, None], "correct": [0, 0, 1]},
        "outputs": [{"output": HOSTILE}] * 3, "probes": {"hash": "hostile", "examples": examples},
        "summary": {"avg_loss": "NaN", "accuracy": 1 / 3, "total_examples": 3, "correct": 1, "incorrect": 2},
    }  # fmt: skip
    upload_to(dashboard, run_id, content)
    name = next(
        one["name"] for one in dashboard.get("/api/evolution/datasets")["datasets"] if "alert" in one["name"]
    )
    page.goto(address(dashboard, dataset=name))
    first = rows(page).first
    expect(first).to_have_attribute("data-step", "0")
    expect(first.locator(".row-input")).to_contain_text("<img src=x onerror=alert(1)> ␛[31mred␀")
    expect(first.locator(".row-answer")).to_contain_text("<img src=x")
    assert len(first.inner_text()) < 1500
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture(scope="module")
def phone(browser: Browser, dashboard: Dashboard) -> Iterator[BrowserContext]:
    context = logged_in(browser, dashboard)
    yield context
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_on_a_phone(phone: BrowserContext, dashboard: Dashboard, run: str, scheme: Any) -> None:
    with watch(phone) as watched:
        page = watched.page
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": 390, "height": 800})
        page.goto(address(dashboard, "?step=100&play=4"))
        expect(rows(page).first).to_have_attribute("data-step", "100")
        expect(page.get_by_test_id("play")).to_have_attribute("aria-label", "Play")  # nothing moves unasked
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.evaluate("scrollTo(0, 20000)")
        expect(rows(page).last).to_have_attribute("data-step", "100")
        expect(page.get_by_test_id("play")).to_be_in_viewport()
        beyond = rows(page).evaluate_all(BEYOND_ITS_ROW)
        assert max(beyond) <= 0
