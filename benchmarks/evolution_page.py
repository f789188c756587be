"""The timeline of an evolution in Chromium: first rows, scrolling, and a step along the slider.

A real dashboard with made-up snapshots, uploaded by the route supervisors use,
and a browser on the same machine.  First rows: from the navigation to the
animation frame in which the rows in sight have their answers.  Scrolling: a
whole screen twelve times a second over the whole list, frames counted.  A step:
from the key to the frame in which every row in sight has its answer of that
step; each step is new to the browser.  The reference of a step is the bare
request for these answers, over a kept connection.

Run: ``python -m benchmarks.evolution_page [--examples 10000] [--snapshots 30] [--repeats 5]``
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright
from sqlalchemy.orm import Session

from app.server.login_links import login_link
from app.services.access import issue_run_token
from benchmarks.server_process import ServerProcess, add_run, machine
from scripts.chromium import HOW_TO_GET_ONE, find_chromium
from tests.e2e.chromium import launch
from tests.e2e.snapshots import Made, upload

DATASET = "made up"
SCROLL_S = 4.0
SHOWN = """
window.shownStep = () => {
  const rows = [...document.querySelectorAll('[data-testid="example-row"]')].filter((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  });
  const steps = new Set(rows.map((row) => (row.hasAttribute("data-asking") ? null : row.dataset.step)));
  return rows.length > 0 && steps.size === 1 ? [...steps][0] : null;
};
window.firstShown = new Promise((resolve) => {
  const look = () => (window.shownStep() ? resolve(performance.now()) : requestAnimationFrame(look));
  addEventListener("DOMContentLoaded", look);
});
"""
STEP = """() => new Promise((resolve) => {
  const before = performance.now();
  const wanted = Number(window.shownStep());
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  const look = () => {
    const step = window.shownStep();
    if (step !== null && Number(step) !== wanted) resolve(performance.now() - before);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""
SCROLL = """(seconds) => new Promise((resolve) => {
  const frames = [];
  let empty = 0;
  const begun = performance.now();
  const frame = (now) => {
    frames.push(now);
    empty += document.querySelector('[data-testid="example-row"][data-waits]') ? 1 : 0;
    scrollBy(0, innerHeight / 5);
    if (now - begun < seconds * 1000) requestAnimationFrame(frame);
    else resolve({
      gaps: frames.slice(1).map((at, index) => at - frames[index]),
      empty: empty / frames.length,
    });
  };
  requestAnimationFrame(frame);
})"""


def fill(server: ServerProcess, made: Made) -> str:
    """Store a run and upload its snapshots; returns its id."""

    def prepare(session: Session) -> tuple[str, str]:
        run_id = add_run(session, "made up")
        return run_id, issue_run_token(session, run_id)

    run_id, token = server.prepare(prepare)
    server.start()
    for content in made.contents():
        upload(f"http://127.0.0.1:{server.port}", token, run_id, content)
    return run_id


def first_rows(context: BrowserContext, address: str) -> tuple[Page, float]:
    """A fresh page and the milliseconds until its first rows had their answers."""
    page = context.new_page()
    page.add_init_script(SHOWN)
    page.goto(address)
    return page, float(page.evaluate("window.firstShown"))


def measure(
    context: BrowserContext, server: ServerProcess, made: Made, *, repeats: int
) -> dict[str, list[float]]:
    """Milliseconds of each figure, frames per second of the scrolling."""
    address = f"http://127.0.0.1:{server.port}/evolution/{DATASET.replace(' ', '%20')}"
    names = ("first", "step", "request", "fps", "worst", "empty")
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(repeats):
        page, first = first_rows(context, f"{address}?step=first")
        found["first"].append(first)
        page.evaluate("scrollTo(0, 2000)")  # the whole window full of rows
        page.wait_for_timeout(1000)
        found["step"] += [page.evaluate(STEP) for _ in made.steps[1:]]
        scrolled: dict[str, Any] = page.evaluate(SCROLL, SCROLL_S)
        found["fps"].append(1000 * len(scrolled["gaps"]) / sum(scrolled["gaps"]))
        found["worst"].append(max(scrolled["gaps"]))
        found["empty"].append(100 * scrolled["empty"])
        page.close()
        with contextlib.suppress(http.client.RemoteDisconnected):  # it was idle too long: connect anew
            server.get("/healthz")
        found["request"] += [_request_ms(server, step) for step in made.steps[1:]]
    return found


def _request_ms(server: ServerProcess, step: int) -> float:
    rows = ",".join(map(str, range(12)))
    path = f"/api/evolution/{DATASET.replace(' ', '%20')}/snapshot/{step}?rows={rows}&texts=short"
    begun = time.perf_counter()
    server.fetch(path)
    return 1e3 * (time.perf_counter() - begun)


def report(found: dict[str, list[float]], made: Made, *, repeats: int) -> str:
    """The result as Markdown."""
    rows = [
        ("first rows with answers, ms", "first", "<= 1000"),
        ("a step along the slider, ms", "step", "<= 100"),
        ("the bare request for its answers, ms", "request", "reference"),
        ("frames per second while scrolling", "fps", ">= 50"),
        ("longest gap between two frames, ms", "worst", ""),
        ("frames with a row still on its way, %", "empty", ""),
    ]
    lines = [
        f"# The timeline of an evolution in Chromium, {time.strftime('%Y-%m-%d')}",
        "",
        f"{made.num_examples:,} examples, {len(made.steps)} snapshots, {repeats} loads of the page; server "
        f"and browser share the machine. {machine()}",
        "",
        "| figure | n | median | p95 | min..max | target |",
        "|---|---|---|---|---|---|",
    ]
    for word, name, target in rows:
        values = sorted(found[name])
        p95 = values[min(len(values) - 1, int(0.95 * len(values)))]
        lines.append(
            f"| {word} | {len(values)} | {statistics.median(values):.0f} | {p95:.0f} | "
            f"{values[0]:.0f}..{values[-1]:.0f} | {target} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--snapshots", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        sys.exit(HOW_TO_GET_ONE)
    made = Made(DATASET, chosen.examples, [100 * index for index in range(chosen.snapshots)])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = ServerProcess(Path(folder) / "instance")
        try:
            fill(server, made)
            browser = launch(playwright, chromium)
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page = context.new_page()
            page.goto(login_link(server.settings))
            page.wait_for_url(f"http://127.0.0.1:{server.port}/")
            page.close()
            found = measure(context, server, made, repeats=chosen.repeats)
            browser.close()
        finally:
            server.close()
    print(report(found, made, repeats=chosen.repeats))


if __name__ == "__main__":
    main()
