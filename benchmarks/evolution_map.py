"""The map of an evolution: what it costs the trainer, the server and the browser.

Made-up vectors in forty groups that part from step to step and turn as a
whole; a real server in a process of its own, a real Chromium. The reference
is the frame rate of a page where nothing moves.

Run: ``python -m benchmarks.evolution_map [--points 10000 50000] [--steps 12] [--repeats 5] [--output FILE]``
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray
from playwright.sync_api import BrowserContext, sync_playwright
from sqlalchemy.orm import Session

from app.domain.snapshots import PackedVectors, SnapshotRecord
from app.server.login_links import login_link
from app.store import snapshots
from benchmarks.server_process import ServerProcess, add_run, machine
from benchmarks.spread import spread
from scripts.chromium import HOW_TO_GET_ONE, find_chromium
from tests.e2e.chromium import launch
from trainer.engine.snapshot_writer import placed_vectors
from trainer.engine.task import ProbeAnswers

DIM: Final = 128
GROUPS: Final = 40
DATASET: Final = "places"
CAPTURES: Final = ((100, 128), (100, 768), (1_000, 768))
FRAMES = """() => new Promise((resolve) => {
  const times = [];
  const took = performance.now();
  const tick = (now) => {
    times.push(now);
    if (now - took < 600) requestAnimationFrame(tick); else resolve(times);
  };
  requestAnimationFrame(tick);
  document.querySelector("#previous")?.click();
})"""


def drifting(num_points: int, num_steps: int) -> Iterator[NDArray[np.float16]]:
    """The vectors (N, D) of each step: groups that part more and more, in a space that turns."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((GROUPS, DIM))
    noise = rng.standard_normal((num_points, DIM))
    turn = np.linalg.qr(np.eye(DIM) + 0.05 * rng.standard_normal((DIM, DIM)))[0]
    space = np.eye(DIM)
    of_point = np.arange(num_points) % GROUPS
    for step in range(num_steps):
        space = space @ turn
        yield ((centres[of_point] * (0.2 + step / num_steps) + noise) @ space).astype("<f2")


def fill(server: ServerProcess, num_points: int, num_steps: int, *, dataset: str) -> None:
    """Store a run with a snapshot per step."""
    examples = [
        {"example_id": f"ex_{row:05d}", "input": f"the question number {row}, in a sentence of usual length",
         "expected_output": f"document {row}", "group": f"group {row % GROUPS}", "gold": f"d{row}"}
        for row in range(num_points)
    ]  # fmt: skip
    outputs: list[dict[str, Any]] = [{"top": [[f"d{row}", 0.5]]} for row in range(num_points)]

    def work(session: Session) -> None:
        run_id = add_run(session, dataset)
        for number, vectors in enumerate(drifting(num_points, num_steps)):
            ranks = array("d", [1.0 + (row + number) % 3 for row in range(num_points)])
            record = SnapshotRecord(
                dataset=dataset, task="retrieval", attempt=1, step=100 * number, epoch=None, t=1e9 + number,
                model_version="bench", cost_s=0.1, probe_set=f"{dataset}-set", examples=examples,
                columns={"loss": ranks, "rank": ranks}, outputs=outputs, documents={}, summary={},
                vectors=PackedVectors(DIM, vectors.tobytes()),
            )  # fmt: skip
            snapshots.save(session, run_id, record, attempt=1)

    server.prepare(work)


def milliseconds(call: Callable[[], Any], repeats: int) -> list[float]:
    """How long each of ``repeats`` calls took."""
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        found.append(1e3 * (time.perf_counter() - began))
    return found


def capture_rows(repeats: int) -> Iterator[tuple[str, str, str]]:
    """What the vectors add to a snapshot on the trainer's side: to write them as text, and to pack that."""
    for num_probes, dim in CAPTURES:
        vectors = np.random.default_rng(1).standard_normal((num_probes, dim)).astype(np.float32)
        answers = ProbeAnswers({}, [{}] * num_probes, vectors_BD=vectors)
        field = orjson.dumps(placed_vectors(answers))

        def capture(answers: ProbeAnswers = answers) -> bytes:
            return gzip.compress(orjson.dumps(placed_vectors(answers)), 5)

        taken = milliseconds(capture, 4 * repeats)
        name = f"vectors of {num_probes:,} x {dim} into the file, ms ({len(field) / 1024:,.0f} KiB)"
        yield name, spread(taken, 2), "a small part of 150"


def server_rows(
    server: ServerProcess, dataset: str, num_steps: int, repeats: int
) -> Iterator[tuple[str, str, str]]:
    """The first answer, which calculates the map; later ones; neighbours."""
    base = f"/api/evolution/{dataset}"
    (first,) = milliseconds(lambda: server.fetch(f"{base}/map?step=latest"), 1)
    yield f"the map of {num_steps} steps calculated, and one frame sent, ms", f"{first:,.0f}", ""
    steps = iter(range(10**9))

    def frame() -> bytes:
        return server.fetch(f"{base}/map?step={100 * (next(steps) % num_steps)}&probes=false")

    yield "one frame more, ms", spread(milliseconds(frame, 2 * repeats)), ""
    size = len(server.fetch(f"{base}/map?step=latest"))
    yield "bytes of the first answer, MiB (as JSON)", f"{size / 2**20:.1f}", ""

    def near() -> bytes:
        row = next(steps) * 37 % 1000
        return server.fetch(f"{base}/snapshot/latest/neighbors?example=ex_{row:05d}&k=10")

    yield "ten neighbours and their churn, ms", spread(milliseconds(near, 2 * repeats)), ""


def browser_rows(
    context: BrowserContext, address: str, repeats: int, target: str
) -> Iterator[tuple[str, str, str]]:
    """The first drawing, and how smoothly points move."""
    painted, rates, worst = [], [], []
    painter = ""
    for _ in range(repeats):
        page = context.new_page()
        page.goto(address)
        canvas = page.locator("canvas[data-painted]")
        canvas.wait_for()
        page.locator("#map-panel h2").wait_for()
        painter = str(canvas.get_attribute("data-painter"))
        marks = page.evaluate("performance.getEntriesByName('map-painted').map(({ startTime }) => startTime)")
        painted.append(float(marks[0]))
        page.evaluate(FRAMES)  # fetches what comes next
        page.wait_for_timeout(700)
        gaps = np.diff(page.evaluate(FRAMES))
        rates.append(1e3 / float(np.mean(gaps)))
        worst.append(float(np.max(gaps)))
        page.close()
    yield f"from opening the page to the points ({painter}), ms", spread(painted, 0), target
    yield "frames per second while points move", spread(rates), ""
    yield "longest gap between two of these frames, ms", spread(worst, 0), ""


def measure(points: list[int], num_steps: int, repeats: int) -> str:
    """The whole table as Markdown."""
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit(HOW_TO_GET_ONE)
    rows = [("100 to 1,000 probes", "", ""), *capture_rows(repeats)]
    for num_points in points:
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
            server = ServerProcess(Path(folder) / "instance")
            fill(server, num_points, num_steps, dataset=DATASET)
            server.start()
            browser = launch(playwright, chromium)
            try:
                rows.append((f"**{num_points:,} points, {num_steps} steps**", "", ""))
                rows += server_rows(server, DATASET, num_steps, repeats)
                context = browser.new_context(viewport={"width": 1280, "height": 900})
                page = context.new_page()
                page.goto(login_link(server.settings))
                page.wait_for_url(f"{server.settings.base_url}/")
                idle = 1e3 / float(np.mean(np.diff(page.evaluate(FRAMES))))
                page.close()
                rows.append(("frames per second of a page where nothing moves", f"{idle:.1f}", "reference"))
                address = f"{server.settings.base_url}/evolution/{DATASET}/map"
                rows += browser_rows(
                    context, address, repeats, "<= 1,500" if num_points <= 10_000 else "works"
                )
            finally:
                browser.close()
                server.close()
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return (
        f"# The map of an evolution, {time.strftime('%Y-%m-%d')}\n\n{machine()} Median (min..max) of "
        f"{repeats} and more; vectors of {DIM} numbers; Chromium without a graphics card.\n\n"
        f"| what | measured | to reach |\n|---|---|---|\n{table}\n"
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    text = measure(options.points, options.steps, options.repeats)
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
