"""How fast the supervisor turns spool lines into columnar batches, beside a bare ``json.loads`` per line.

Run: ``python -m benchmarks.spool_reader [LINES]``; prints min/median/max of five rounds in lines per second.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from trainer.protocol.events import Stream
from trainer.protocol.run_folder import SEGMENT_BYTES, segments
from trainer.supervisor.spool_reader import SpoolReader

ROUNDS = 5


def write_spool(folder: Path, num_lines: int, names: list[str]) -> None:
    """Write what a trainer that logs ``names`` every step would leave behind."""
    folder.mkdir(parents=True)
    number, size = 1, 0
    file = (folder / f"{number:06d}.jsonl").open("w")
    for seq in range(1, num_lines + 1):
        values = {name: 1.0 / seq + index for index, name in enumerate(names)}
        event = {
            "seq": seq,
            "t": 1.7e9 + seq / 1e3,
            "type": "metrics",
            "attempt": 1,
            "step": seq,
            "values": values,
        }
        size += file.write(json.dumps(event, separators=(",", ":")) + "\n")
        if size > SEGMENT_BYTES:
            file.close()
            number, size = number + 1, 0
            file = (folder / f"{number:06d}.jsonl").open("w")
    file.close()


def read_columns(folder: Path) -> int:
    """Everything the supervisor does with a line up to the wire form of its batch."""
    reader = SpoolReader(folder, run="bench", stream=Stream.TRAINER)
    while read := reader.read():
        for batch in read:
            batch.to_wire()
    reader.close()
    return reader.have


def read_plain(folder: Path) -> int:
    """The least any reader has to do: ``json.loads`` of every line."""
    count = 0
    for path in segments(folder):
        with path.open() as file:
            for line in file:
                json.loads(line)
                count += 1
    return count


def rates(read: Callable[[Path], int], folder: Path, num_lines: int) -> str:
    """Lines per second over all rounds, as min / median / max."""
    figures = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        if read(folder) != num_lines:
            raise SystemExit("lines were lost")
        figures.append(num_lines / (time.perf_counter() - begin))
    return f"{min(figures):,.0f} | {statistics.median(figures):,.0f} | {max(figures):,.0f}"


def main() -> None:
    """Measure both readers on one and on five values per line."""
    num_lines = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    print(f"# Spool reader, {time.strftime('%Y-%m-%d')}\n")
    print(f"{num_lines:,} lines in 8 MiB segments, lines per second over {ROUNDS} rounds.\n")
    print("| values per line | way | min | median | max |\n|---|---|---|---|---|")
    for names in (["train/loss"], [f"train/metric_{index}" for index in range(5)]):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "spool"
            write_spool(folder, num_lines, names)
            print(
                f"| {len(names)} | SpoolReader, to the wire form | {rates(read_columns, folder, num_lines)} |"
            )
            print(f"| {len(names)} | json.loads per line | {rates(read_plain, folder, num_lines)} |")


if __name__ == "__main__":
    main()
