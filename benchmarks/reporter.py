"""What one ``Reporter.metrics`` call costs the training, beside a bare ``json.dumps`` and file write.

Both write the same values in the same run, by turns, so a busy machine slows
both. The references are what a person writes by hand: one line per call to an
open file, (a) left in the file's buffer, lost when the process is killed, and
(b) flushed at every line, which is what the Reporter promises.

Run: ``python -m benchmarks.reporter [--calls 20000] [--repeats 9] [--output FILE]``
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.spread import spread
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.reporter import Reporter

Values = dict[str, float]
Call = Callable[[int, Values], None]
SHAPES = {"one scalar": 1, "five scalars": 5}


def values_at(step: int, count: int) -> Values:
    """Numbers that look like a training's: long fractions that change every step."""
    return {f"train/metric_{index}": 1.0 / (step + index + 1.3) for index in range(count)}


def microseconds_per_call(call: Call, rows: list[Values]) -> float:
    """Mean cost of a call in a tight loop over values made before."""
    started = time.perf_counter()
    for step, values in enumerate(rows):
        call(step, values)
    return (time.perf_counter() - started) / len(rows) * 1e6


def measure(folder: Path, *, count: int, calls: int, repeats: int) -> dict[str, list[float]]:
    """Microseconds per call of each way, one figure per repeat, in turns."""
    rows = [values_at(step, count) for step in range(calls)]
    reporter = Reporter(RunPaths(folder / f"run{count}"), attempt=1)
    buffered = (folder / f"buffered{count}.jsonl").open("w")
    flushed = (folder / f"flushed{count}.jsonl").open("w")

    def write(step: int, values: Values) -> None:
        buffered.write(json.dumps({"t": time.time(), "step": step, "values": values}) + "\n")

    def write_and_flush(step: int, values: Values) -> None:
        flushed.write(json.dumps({"t": time.time(), "step": step, "values": values}) + "\n")
        flushed.flush()

    ways: dict[str, Call] = {
        "json + write": write,
        "json + write + flush": write_and_flush,
        "Reporter": reporter.metrics,
    }
    for call in ways.values():
        microseconds_per_call(call, rows[: calls // 10])  # warm caches
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, call in ways.items():
            found[name].append(microseconds_per_call(call, rows))
    reporter.close()
    buffered.close()
    flushed.close()
    return found


def table(shape: str, found: dict[str, list[float]]) -> str:
    """One Markdown table of a shape."""
    lines = [f"### {shape} per call", "", "| way | us per call | x json + write | x json + write + flush |"]
    lines.append("|---|---|---|---|")
    for name, row in found.items():
        ratios = [
            spread([value / other for value, other in zip(row, found[reference], strict=True)], 2)
            for reference in ("json + write", "json + write + flush")
        ]
        lines.append("| " + " | ".join([name, spread(row, 2), *ratios]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print Markdown, and write it to a file when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    parts = [
        f"# Reporter, {time.strftime('%Y-%m-%d')}",
        f"{arguments.calls} calls, {arguments.repeats} repeats by turns; median (min..max) per repeat. "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}.",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for shape, count in SHAPES.items():
            found = measure(Path(folder), count=count, calls=arguments.calls, repeats=arguments.repeats)
            parts.append(table(shape, found))
    text = "\n\n".join(parts) + "\n"
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
