"""How fast the output of scripts is read, and what 100 lines per second cost.

Run: ``python -m benchmarks.output_reading [LINES]``. The lines are those of the labelled corpus
(``tests/fixtures/output``), the share of metric lines as in it, and each kind of line by itself. Beside each,
in the same run and in turns, the reference: one plain ``re.findall`` of names and numbers over them, which
understands nothing. Machines differ and are busy, the share of the two differs little.
"""

from __future__ import annotations

import itertools
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.spread import spread
from tests.trainer.telemetry.output.corpus import FOLDER, lines_of
from trainer.telemetry.output.reader import OutputReader

ROUNDS = 5
CHUNK = 32 * 1024
PACED_LINES = 100
TARGET = 50_000
HEADS = {"Keras bar": "Epoch 1/3", "row of a table": "epoch     train_loss  valid_loss  accuracy  time"}
PACED_S = 10.0
KINDS = {
    "key=value with a step": "step {n} | train_loss=0.5{n} | lr=0.001 | grad_norm=1.5",
    "iter N: loss X": "iter {n}: loss 0.5{n}, time 25.90ms, mfu 14.39%",
    "JSON line": '{{"step": {n}, "loss": 0.5{n}, "lr": 0.001}}',
    "tqdm bar with loss": "\rEpoch 1/3:  50%|#####     | {n}/9999999 [00:05<00:05, 10.00it/s, loss=0.5{n}]",
    "name number, commas": "step {n} loss 0.5{n}, lr 0.05, acc 0.81",
    "word language model": "| epoch 1 | {n:5d}/99999 batches | lr 5.00 | ms/batch 12.3 | loss 7.{n} | ppl 9",
    "Trainer dict": "{{'loss': 0.5{n}, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.{n:06d}}}",
    "Keras bar": "\r{n}/99999 [====>.........] - ETA: 4s - loss: 0.5{n} - accuracy: 0.25",
    "row of a table": "{n}         0.5{n}    0.400000    0.850000  00:12",
    "boosting round": "[{n}]\ttrain-rmse:0.5{n}\teval-rmse:0.75",
    "talk": "2024-05-01 12:00:00,123 INFO loading shard number {n} of the corpus from the cache",
}


def corpus() -> list[str]:
    """Every line of the corpus."""
    return [line.text for path in sorted(FOLDER.glob("*.txt")) for line in lines_of(path)]


def read(text: str) -> int:
    """Read all of it in pieces as a supervisor does; the number of events."""
    reader = OutputReader()
    found = 0
    for start in range(0, len(text), CHUNK):
        found += len(reader.feed(text[start : start + CHUNK], start / CHUNK))
    return found + len(reader.close())


def split(text: str) -> int:
    """The reference: every name with a number behind it, as a script of three lines would find them."""
    pair = re.compile(r"([A-Za-z_][\w/]*)['\"]?[\s:=]+([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
    return sum(len(pair.findall(line)) for line in text.splitlines())


def rates(works: Sequence[Callable[[str], int]], lines: Sequence[str]) -> list[list[float]]:
    """Lines per second of processor time of each work, in turns."""
    text = "\n".join(lines) + "\n"
    figures: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, found in zip(works, figures, strict=True):
            begin = time.process_time()
            work(text)
            found.append(len(lines) / (time.process_time() - begin))
    return figures


def row(name: str, lines: Sequence[str]) -> str:
    """One line of the table."""
    ours, plain = rates((read, split), lines)
    share = statistics.median(plain) / statistics.median(ours)
    verdict = "yes" if statistics.median(ours) >= TARGET else "no"
    return f"| {name} | {spread(ours, 0)} | {spread(plain, 0)} | {share:.1f} | {verdict} |"


def paced() -> float:
    """Percent of one core that reading 100 lines per second takes, in looks of a quarter of a second."""
    reader = OutputReader()
    source = itertools.cycle(corpus())
    began, cpu = time.perf_counter(), time.process_time()
    per_look = PACED_LINES // 4
    looks = int(PACED_S * 4)
    for look in range(looks):
        reader.feed("\n".join(itertools.islice(source, per_look)) + "\n", look / 4)
        time.sleep(max(0.0, began + (look + 1) / 4 - time.perf_counter()))
    return 100.0 * (time.process_time() - cpu) / (time.perf_counter() - began)


def main() -> None:
    """Measure every kind of line."""
    num_lines = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    print(f"# Reading output, {time.strftime('%Y-%m-%d')}\n")
    print(f"{num_lines:,} lines, lines per second of processor time, median (min..max) of {ROUNDS} rounds.\n")
    print(f"| lines | read | reference | reference/read | >= {TARGET:,} |\n|---|---|---|---|---|")
    mixed = list(itertools.islice(itertools.cycle(corpus()), num_lines))
    print(row("the labelled corpus", mixed))
    for kind, form in KINDS.items():
        head = [HEADS[kind]] if kind in HEADS else []
        print(row(kind, head + [form.format(n=n) for n in range(1, num_lines + 1)]))
    print(f"\n100 lines of the corpus per second take {paced():.2f} % of a core.")


if __name__ == "__main__":
    main()
