"""From ``log()`` in a trainer to the moved line in Chromium, with nothing replaced.

A real dashboard, a real supervisor and a real two-tower training run share the
machine with the browser that watches it.  The clock of a step starts with the
time in its spool line and stops in the animation frame after the first redraw
of the loss line that contains the step.  The reference, in the same run, is
the moment at which the frame with the step arrived in Chromium's websocket.

Run: ``python -m benchmarks.live_latency [--seconds 20] [--repeats 3] [--output FILE]``
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from bisect import bisect_left
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from scripts.chromium import HOW_TO_GET_ONE, find_chromium
from tests.e2e.chromium import launch, logged_in
from tests.e2e.corpus import write_corpus
from tests.e2e.dashboard import Dashboard
from tests.e2e.spool import spooled_events
from trainer.protocol.events import Stream

SELDOM = {"eval_every": 1_000_000, "checkpoint_every": 1_000_000}
PACES: dict[str, dict[str, object]] = {
    "a small model, hundreds of steps per second": {},
    "the recipe's defaults": {"batch_size": 512, "num_buckets": 131_072, "dim": 128, "hidden_dim": 512},
}
Moments = list[tuple[int, float]]
"""The newest step known at a moment (Unix seconds), oldest first."""

WATCH_REDRAWS = """() => {
  const card = document.querySelector('[data-testid="chart-train-loss"]');
  window.redraws = [];
  let waits = false;
  new MutationObserver(() => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      const traces = card.querySelector(".js-plotly-plot").data;
      window.redraws.push([Math.max(...traces.map(({ x }) => x.at(-1) ?? 0)), Date.now() / 1000]);
    });
  }).observe(card, { subtree: true, attributeFilter: ["d"] });
}"""


def latencies(reported: dict[int, float], moments: Moments) -> list[float]:
    """Seconds from each step's report until the first moment that knew the step."""
    newest = [step for step, _ in moments]
    found = []
    for step, t in reported.items():
        index = bisect_left(newest, step)
        if index < len(moments):
            found.append(moments[index][1] - t)
    return found


def measure(
    dashboard: Dashboard, page: Page, params: dict[str, object], *, seconds: float
) -> dict[str, list[float]]:
    """Watch one run for ``seconds``; latencies of all steps reported meanwhile."""
    frames: Moments = []

    def hear(payload: str | bytes) -> None:
        arrived = time.time()
        text = payload if isinstance(payload, str) else payload.decode(errors="replace")
        if '"points"' in text and "train/loss" in text:
            body = json.loads(text[text.index("[") :])[1]
            for series in body["series"]:
                if series["name"] == "train/loss" and series.get("steps"):
                    frames.append((series["steps"][-1], arrived))

    page.on("websocket", lambda socket: socket.on("framereceived", hear))
    run_id = dashboard.create_run("stdlib.jsonl", name="latency", **SELDOM, **params)
    page.goto(f"{dashboard.url}/runs/{run_id}")
    card = page.get_by_test_id("chart-train-loss")
    expect(card.locator("path.js-line").first).to_be_attached(timeout=60_000)
    page.evaluate(WATCH_REDRAWS)
    began = time.time() + 1  # the first redraws load what later ones need
    page.wait_for_timeout(1000 * (seconds + 2))
    redraws: Moments = [(int(step), at) for step, at in page.evaluate("window.redraws")]
    dashboard.order(run_id, "stop")
    dashboard.wait_for_state(run_id, "stopped")
    reported = {
        event["step"]: event["t"]
        for event in spooled_events(dashboard.paths(run_id), Stream.TRAINER)
        if event["type"] == "metrics"
        and "train/loss" in event["values"]
        and began <= event["t"] <= began + seconds
    }
    return {"line moved": latencies(reported, redraws), "frame arrived": latencies(reported, frames)}


def report(found: dict[str, list[dict[str, list[float]]]], *, seconds: float) -> str:
    """The result as Markdown."""
    repeats = len(next(iter(found.values())))
    lines = [
        f"# From log() to the moved line, {time.strftime('%Y-%m-%d')}",
        "",
        f"Every step of {repeats} training runs of {seconds:g} s at each pace, milliseconds: median over the "
        f"runs (min..max). {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python "
        f"{platform.python_version()}; server, supervisor, trainer and browser share the machine, whose load "
        f"over five minutes was {os.getloadavg()[1]:.1f}.",
        "",
        "| pace | until | steps | p50 | p99 | slowest | target |",
        "|---|---|---|---|---|---|---|",
    ]
    targets = {"line moved": "p50 <= 250, p99 <= 600", "frame arrived": "reference"}
    for pace, measured in found.items():
        for name, target in targets.items():
            runs = [sorted(one[name]) for one in measured]
            quantiles = [_spread([_quantile(run, q) for run in runs]) for q in (0.5, 0.99, 1.0)]
            lines.append(f"| {pace} | {name} | {sum(map(len, runs))} | {' | '.join(quantiles)} | {target} |")
    return "\n".join(lines) + "\n"


def _quantile(ordered: list[float], q: float) -> float:
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def _spread(values: list[float]) -> str:
    scaled = [1e3 * value for value in values]
    return f"{statistics.median(scaled):.0f} ({min(scaled):.0f}..{max(scaled):.0f})"


def main() -> None:
    """Measure, print Markdown, and write it to a file when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        sys.exit(HOW_TO_GET_ONE)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        instance = Path(folder) / "instance"
        write_corpus(instance / "inbox" / "stdlib.jsonl")
        dashboard = Dashboard(instance)
        try:
            dashboard.start()
            browser = launch(playwright, chromium)
            context = logged_in(browser, dashboard)
            found: dict[str, list[dict[str, list[float]]]] = {pace: [] for pace in PACES}
            for _ in range(chosen.repeats):
                for pace, params in PACES.items():
                    page = context.new_page()
                    found[pace].append(measure(dashboard, page, params, seconds=chosen.seconds))
                    page.close()
            browser.close()
        finally:
            dashboard.close()
    text = report(found, seconds=chosen.seconds)
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
