"""The map in a real Chromium, on a run that has really trained."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, expect

from tests.e2e.chromium import logged_in
from tests.e2e.dashboard import Dashboard
from tests.e2e.snapshots import upload_to
from tests.e2e.watched_page import watch
from tests.waiting import wait_for
from trainer.protocol.events import snapshot_name

pytestmark = pytest.mark.browser

ADDRESS = "/evolution/stdlib/map"


def open_map(page: Page, dashboard: Dashboard, run_id: str, **fields: object) -> None:
    """Go to the map of a run and wait until its points are painted."""
    query = "&".join([f"run={run_id}", *(f"{name}={value}" for name, value in fields.items())])
    page.goto(f"{dashboard.url}{ADDRESS}?{query}")
    expect(page.get_by_test_id("map-canvas")).to_have_attribute("data-painted", "true")


def address_of(page: Page) -> dict[str, list[str]]:
    """What the page's address says."""
    return parse_qs(urlsplit(page.url).query)


def inked(page: Page) -> int:
    """How many different colours the middle of the map has, as somebody sees it."""
    box = page.get_by_test_id("map").bounding_box()
    assert box is not None
    picture = page.screenshot(
        clip={"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}
    )
    return len(picture)


def centre(page: Page, selector: str) -> tuple[float, float]:
    """Middle of the first mark of this kind on the screen; every paint makes the marks anew."""
    mark = page.locator(f".map-marks {selector}").first
    box = wait_for(mark.bounding_box, what=f"a mark {selector}")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_map_shows_every_example_of_the_newest_step(
    page: Page, dashboard: Dashboard, finished: str
) -> None:
    found = dashboard.get(f"/api/evolution/stdlib/map?run={finished}&step=latest")
    assert found["steps"][0] == 0
    assert found["steps"][-1] == 60
    open_map(page, dashboard, finished)
    expect(page.get_by_test_id("map-canvas")).to_have_attribute("data-points", str(len(found["probes"])))
    expect(page.get_by_test_id("map-step")).to_have_text("60")
    held = round(100 * sum(found["explained"]))
    expect(page.get_by_test_id("map-says")).to_contain_text(f"{held} %")
    right = sum(found["frames"][0]["correct"])
    expect(page.get_by_test_id("map")).to_have_attribute("aria-label", re.compile(f"{right} of them right"))


def test_points_are_really_painted(page: Page, dashboard: Dashboard, finished: str) -> None:
    open_map(page, dashboard, finished, colour="correct")
    full = inked(page)
    for button in page.get_by_test_id("map-legend").locator("button").all():
        button.click()
    expect(page.get_by_test_id("map-legend").locator("button[aria-pressed=true]")).to_have_count(0)
    assert inked(page) < full


def test_keys_and_slider_and_play_go_through_the_steps(
    page: Page, dashboard: Dashboard, finished: str
) -> None:
    steps = dashboard.get(f"/api/evolution/stdlib/map?run={finished}&step=latest")["steps"]
    open_map(page, dashboard, finished)
    step = page.get_by_test_id("map-step")
    expect(step).to_have_text("60")
    page.keyboard.press("ArrowLeft")
    expect(step).to_have_text(str(steps[-2]))
    assert address_of(page)["step"] == [str(steps[-2])]
    page.keyboard.press("Home")
    expect(step).to_have_text("0")
    page.get_by_test_id("map-slider").fill("1")
    expect(step).to_have_text(str(steps[1]))
    page.get_by_test_id("map-slider").blur()
    page.keyboard.press(" ")
    expect(page.get_by_test_id("map-play")).to_have_attribute("aria-pressed", "true")
    expect(step).to_have_text("60")
    expect(page.get_by_test_id("map-play")).to_have_attribute("aria-pressed", "false")
    assert "step" not in address_of(page)


def test_an_example_is_found_chosen_and_followed(page: Page, dashboard: Dashboard, finished: str) -> None:
    found = dashboard.get(f"/api/evolution/stdlib/map?run={finished}&step=latest")
    example_id = found["probes"][5]["example_id"]
    near = dashboard.get(
        f"/api/evolution/stdlib/snapshot/60/neighbors?run={finished}&example={example_id}&k=10"
    )
    open_map(page, dashboard, finished)
    page.get_by_placeholder("Find an example").fill(example_id)
    page.keyboard.press("Enter")
    panel = page.get_by_test_id("map-panel")
    expect(panel).to_have_attribute("data-example", example_id)
    neighbours = page.get_by_test_id("map-neighbours").locator("button")
    expect(neighbours).to_have_count(10)
    expect(neighbours.first).to_have_attribute("data-example", near["neighbors"][0]["example_id"])
    expect(page.get_by_test_id("map-churn")).to_contain_text(re.compile(r"step 50"))
    came = page.get_by_test_id("map-neighbours").locator("button[data-new=true]")
    expect(came).to_have_count(len(near["entered"]))
    expect(page.get_by_test_id("map-open-example")).to_have_attribute(
        "href", re.compile(rf"/evolution/stdlib/examples/.+\?run={finished}&step=60")
    )
    assert address_of(page)["example"] == [example_id]

    page.get_by_test_id("map-step").click()  # out of the field
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("map-panel")).to_contain_text("Nearest at step 50")
    neighbours.first.click()
    expect(panel).not_to_have_attribute("data-example", example_id)


def test_pointing_tells_and_a_click_chooses(page: Page, dashboard: Dashboard, finished: str) -> None:
    found = dashboard.get(f"/api/evolution/stdlib/map?run={finished}&step=latest")
    frame = found["frames"][0]
    farthest = max(range(len(frame["x"])), key=lambda row: frame["x"][row] ** 2 + frame["y"][row] ** 2)
    point = found["probes"][farthest]
    open_map(page, dashboard, finished, example=point["example_id"])
    middle = centre(page, ".chosen")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("map-panel")).to_have_attribute("data-example", "")
    assert "example" not in address_of(page)
    page.mouse.move(*middle)
    expect(page.get_by_test_id("map-tip")).to_contain_text(point["text"][:30])
    page.mouse.click(*middle)
    expect(page.get_by_test_id("map-panel")).to_have_attribute("data-example", point["example_id"])


def test_an_address_leads_to_step_colour_and_example(page: Page, dashboard: Dashboard, finished: str) -> None:
    probes = dashboard.get(f"/api/evolution/stdlib/map?run={finished}&step=10")["probes"]
    example_id, groups = probes[0]["example_id"], {probe["group"] for probe in probes}
    open_map(page, dashboard, finished, step=10, colour="correct", example=example_id)
    expect(page.get_by_test_id("map-step")).to_have_text("10")
    expect(page.get_by_role("button", name="Right or wrong")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("map-legend").locator("li")).to_have_count(2)
    expect(page.get_by_test_id("map-panel")).to_contain_text("Nearest at step 10")
    page.get_by_role("button", name="Group").click()
    expect(page.get_by_test_id("map-legend").locator("li")).to_have_count(min(12, len(groups)))
    assert address_of(page)["colour"] == ["group"]


def test_a_phone_sees_all_of_it_without_scrolling_sideways(
    profile: BrowserContext, dashboard: Dashboard, finished: str
) -> None:
    with watch(profile) as watched:
        page = watched.page
        page.set_viewport_size({"width": 390, "height": 844})
        open_map(page, dashboard, finished)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def touch(cdp: CDPSession, kind: str, *fingers: tuple[float, float]) -> None:
    """What a touch screen tells the browser."""
    points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(fingers)]
    cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.fixture
def touched(browser: Browser, dashboard: Dashboard, finished: str) -> Iterator[Page]:
    """The map on a phone with a touch screen, an example chosen and its ten neighbours marked."""
    context = logged_in(browser, dashboard, has_touch=True)
    with watch(context) as watched:
        page = watched.page
        page.set_viewport_size({"width": 390, "height": 844})
        probes = dashboard.get(f"/api/evolution/stdlib/map?run={finished}&step=60")["probes"]
        open_map(page, dashboard, finished, example=probes[5]["example_id"])
        expect(page.locator(".map-marks .near")).to_have_count(10)
        page.get_by_test_id("map").scroll_into_view_if_needed()
        yield page
    context.close()


def middle_of_the_map(page: Page) -> tuple[float, float]:
    box = page.get_by_test_id("map").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_moves_the_map_and_a_tap_chooses(touched: Page) -> None:
    cdp = touched.context.new_cdp_session(touched)
    (x, y), (before_x, before_y) = middle_of_the_map(touched), centre(touched, ".chosen")
    panel = touched.get_by_test_id("map-panel")
    example_id = panel.get_attribute("data-example") or ""
    scrolled = touched.evaluate("scrollY")
    touch(cdp, "touchStart", (x, y))
    for part in (10, 20, 30):
        touch(cdp, "touchMove", (x + part, y + 2 * part))
    touch(cdp, "touchEnd")
    wait_for(
        lambda: centre(touched, ".chosen") == pytest.approx((before_x + 30, before_y + 60), abs=1.5),
        what="the map beneath the finger",
    )
    assert touched.evaluate("scrollY") == scrolled
    expect(panel).to_have_attribute("data-example", example_id)  # that was no tap

    place = centre(touched, ".chosen")
    touched.keyboard.press("Escape")
    expect(panel).to_have_attribute("data-example", "")
    touched.touchscreen.tap(*place)
    expect(panel).to_have_attribute("data-example", example_id)


def test_two_fingers_zoom_the_map_around_their_middle(touched: Page) -> None:
    cdp = touched.context.new_cdp_session(touched)
    x, y = middle_of_the_map(touched)
    chosen, near = centre(touched, ".chosen"), centre(touched, ".near")
    example_id = touched.get_by_test_id("map-panel").get_attribute("data-example") or ""
    touch(cdp, "touchStart", (x - 40, y))
    touch(cdp, "touchStart", (x - 40, y), (x + 40, y))
    for part in (10, 20, 40):
        touch(cdp, "touchMove", (x - 40 - part, y), (x + 40 + part, y))
    touch(cdp, "touchEnd")

    def is_twice_as_large() -> bool:
        wanted = [(x + 2 * (at[0] - x), y + 2 * (at[1] - y)) for at in (chosen, near)]
        found = [centre(touched, ".chosen"), centre(touched, ".near")]
        return all(one == pytest.approx(other, abs=3) for one, other in zip(found, wanted, strict=True))

    wait_for(is_twice_as_large, what="the map twice as large")
    assert touched.evaluate("visualViewport.scale") == 1  # the page itself is not zoomed
    expect(touched.get_by_test_id("map-panel")).to_have_attribute("data-example", example_id)


def test_who_wants_calm_sees_no_motion(profile: BrowserContext, dashboard: Dashboard, finished: str) -> None:
    with watch(profile) as watched:
        page = watched.page
        page.emulate_media(reduced_motion="reduce")
        open_map(page, dashboard, finished, step=0)
        page.keyboard.press("ArrowRight")
        expect(page.get_by_test_id("map")).to_have_attribute("data-step", "10")


def upload_again(dashboard: Dashboard, run_id: str, *, of_step: int, as_step: int) -> None:
    """Send a snapshot of a run as that of a later step, as its supervisor would."""
    paths = dashboard.paths(run_id)
    content = json.loads(gzip.decompress((paths.snapshots / snapshot_name(of_step)).read_bytes()))
    content |= {"step": as_step, "t": content["t"] + 1}
    upload_to(dashboard, run_id, content)


def test_a_new_snapshot_comes_by_itself_and_moves_nobody(
    page: Page, dashboard: Dashboard, corpus_text: str
) -> None:
    (dashboard.instance / "inbox" / "placed.jsonl").write_text(corpus_text, encoding="utf-8")
    run_id = dashboard.create_run("placed.jsonl", name="placed", max_steps=10, snapshot_budget=1.0)
    dashboard.wait_for_state(run_id, "finished", "failed", timeout_s=120)
    page.goto(f"{dashboard.url}/evolution/placed/map?step=0")
    expect(page.get_by_test_id("map-canvas")).to_have_attribute("data-painted", "true")
    slider = page.get_by_test_id("map-slider")
    expect(slider).to_have_attribute("max", "1")
    upload_again(dashboard, run_id, of_step=10, as_step=20)
    expect(slider).to_have_attribute("max", "2")
    expect(page.get_by_test_id("map-step")).to_have_text("0")
    page.locator("#new-snapshot").get_by_role("button", name="Show it").click()
    expect(page.get_by_test_id("map-step")).to_have_text("20")
    expect(page.locator("#new-snapshot")).to_be_hidden()
    upload_again(dashboard, run_id, of_step=10, as_step=30)  # who follows the newest sees the next one
    expect(page.get_by_test_id("map-step")).to_have_text("30")


def test_an_example_that_is_not_there_is_told(page: Page, dashboard: Dashboard, finished: str) -> None:
    open_map(page, dashboard, finished, example="%3Cb%3Enobody")
    expect(page.get_by_test_id("map-panel")).to_contain_text("None of these has the id <b>nobody.")
