"""The labelled lines of ``tests/fixtures/output``: read in order, compared with what they say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from trainer.protocol.events import decode_number
from trainer.telemetry.output.reader import OutputReader

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "output"
HELD_OUT = FOLDER / "held_out"  # written before the reader was changed for the rest


@dataclass(frozen=True)
class Line:
    """One line and what is known once it was read: step and values, or None."""

    text: str
    expected: tuple[int, dict[str, float]] | None


@dataclass
class Score:
    """Readings that are right, wrong (false or with a wrong number), and missing."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        """The share of the readings that are right; 1 when there are none."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """The share of what could be read that was."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


def lines_of(path: Path) -> list[Line]:
    """The lines of one file of the corpus."""
    found = []
    for row in path.read_text(encoding="utf-8").splitlines():
        label, _, text = row.partition("\t")
        text = text.replace("\\r", "\r").replace("\\e", "\x1b")
        found.append(Line(text, None if label == "-" else _expected(label)))
    return found


def _expected(label: str) -> tuple[int, dict[str, float]]:
    step, *pairs = label.split()
    return int(step), {name: float(value) for name, _, value in (pair.partition("=") for pair in pairs)}


def readings(path: Path) -> list[tuple[Line, dict[int, dict[str, float]]]]:
    """Every line with the values read when it came, by step."""
    reader = OutputReader()
    found = []
    for number, line in enumerate(lines_of(path)):
        by_step: dict[int, dict[str, float]] = {}
        for event in reader.feed(line.text + "\n", number / 10):
            if event["type"] == "metrics":
                values = {name: decode_number(value) for name, value in event["values"].items()}
                by_step.setdefault(event["step"], {}).update(values)
        found.append((line, by_step))
    return found


def score(path: Path) -> tuple[Score, list[str]]:
    """How the reader does on one file, and what it gets wrong, in words."""
    total, faults = Score(), []
    for line, got in readings(path):
        if line.expected is None:
            total.wrong += bool(got)
            if got:
                faults.append(f"{path.name}: {line.text!r} says nothing, but was read as {got}")
            continue
        step, values = line.expected
        if not got:
            total.missed += 1
            faults.append(f"{path.name}: {line.text!r} was not read")
        elif set(got) == {step} and all(_same(got[step].get(name), value) for name, value in values.items()):
            total.right += 1
        else:
            total.wrong += 1
            faults.append(f"{path.name}: {line.text!r} was read as {got}, not as {line.expected}")
    return total, faults


def _same(got: float | None, expected: float) -> bool:
    if got is None:
        return False
    return math.isclose(got, expected, rel_tol=1e-9) or (math.isnan(got) and math.isnan(expected))
