"""Tables: a line of names above lines of numbers, and boxes of ``| name | number |``.

fastai, spaCy, skorch, scikit-learn and Ultralytics print a row per epoch or
step below one header; Stable Baselines prints a box per report. A header
counts only when its first name is a place (``epoch``, ``iter``, ``#``) and one
of the others is something people measure; a row only when it has as many
cells as the header, all of them numbers, and goes forward. A box counts only
when one of its rows names the step.
"""

from __future__ import annotations

import re
from typing import Final

from trainer.telemetry.output.bars import Bar, BarKind
from trainer.telemetry.output.names import Part, is_known, is_ours, metric_name, split_part
from trainer.telemetry.output.reading import Reading, count

_EPOCHS: Final = frozenset({"epoch", "epochs", "ep", "e"})
_STEPS: Final = frozenset({"step", "steps", "iter", "iters", "iteration", "iterations", "round", "#"})
_CLASSES: Final = frozenset({"class", "classes"})
_WHOLE: Final = "all"  # the row of a table of classes that stands for all of them
_FIRST: Final = re.compile(
    r"[ \t|]*(?:epochs?|ep|iter(?:ation)?s?|steps?|rounds?|e|#|class(?:es)?)(?:[ \t]{2,}|\t|[ \t]*\|)[^\d]",
    re.IGNORECASE,
)
_GAP: Final = re.compile(r"[ \t]*\|[ \t]*|\t+|[ \t]{2,}")
_CELL: Final = re.compile(r"[A-Za-z#(][\w@/.()'%# -]{0,40}")
_NUMBER: Final = re.compile(
    r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?%?|[-+]?(?:nan|inf)", re.IGNORECASE
)
_OTHER: Final = re.compile(r"[\d:]+(?:\.\d+)?|[\d.]+(?:[KMGT]i?B?|ms|s|m|h)|\d+/\d+|-", re.IGNORECASE)
_BOX_ROW: Final = re.compile(r"\|[ \t]*(?P<name>[A-Za-z][\w/. -]*?)[ \t]*\|[ \t]*(?P<value>\S*)[ \t]*\|")
_BOX_STEPS: Final = ("total_timesteps", "timesteps", "global_step", "step", "steps")
_BOX_CLOCKS: Final = ("time", "fps")
_MOST_ROWS: Final = 200
_OWN_NAMES: Final = {"box(p": "precision", "r": "recall"}
_MOST_WORDS: Final = 3
_MOST_CELLS: Final = 40
_SHORTEST_RULE: Final = 8


class Tables:
    """Remembers the header that was printed last, and the box that is still open."""

    def __init__(self) -> None:
        self._names: list[str | None] = []  # of the metric in each column; None where it is none
        self._epoch = self._step = -1  # the columns that tell the place
        self._is_of_classes = False
        self._last = -1
        self._box: dict[str, str] = {}
        self._section = ""

    def read(self, line: str) -> Reading | None:
        """What a row says, or the end of a box; None for every other line."""
        text = line.strip()
        first = text[:1]
        if first == "|" and self._box_row(text):
            return None
        if first in "-=+":
            return self._close_box(text)
        if self._names and (first.isdigit() or first == "|" or text.startswith(_WHOLE)):
            reading = self._row(text)
            if reading is not None:
                return reading
        if first in "eEiIsSrR#cC|" and _FIRST.match(line) is not None:
            self._header(text)
        return None

    def take_bar(self, bar: Bar) -> None:
        """Words in front of a bar that are a header or a row say what it counts."""
        if self._names and bar.desc[:1].isdigit():
            reading = self._row(bar.desc, is_repeated=True)
            if reading is not None:
                bar.kind, bar.values = BarKind.TRAINING, reading.values
                bar.epoch, bar.num_epochs = reading.epoch, reading.num_epochs
        elif _FIRST.match(bar.desc) is not None and self._header(bar.desc) and self._is_of_classes:
            bar.kind = BarKind.EVALUATING

    def _header(self, text: str) -> bool:
        cells = [cell for cell in _GAP.split(text.strip("| \t")) if cell]
        if not 1 < len(cells) <= _MOST_CELLS or not all(_is_name(cell) for cell in cells):
            return False
        names = _names_of(cells)
        if not any(names):
            self._names = []
            return False
        lower = [cell.lower() for cell in cells]
        self._names = names
        self._epoch = next((n for n, cell in enumerate(lower) if cell in _EPOCHS), -1)
        self._step = next((n for n, cell in enumerate(lower) if cell in _STEPS), -1)
        self._is_of_classes = lower[0] in _CLASSES
        self._last = -1
        return True

    def _row(self, text: str, *, is_repeated: bool = False) -> Reading | None:
        cells = text.replace("|", " ").split()
        if len(cells) != len(self._names):
            return None
        if self._is_of_classes and cells[0] != _WHOLE:
            return None
        printed = {}
        for number, cell in enumerate(cells):
            if _NUMBER.fullmatch(cell) is not None:
                printed[number] = cell
            elif not (self._is_of_classes and number == 0) and _OTHER.fullmatch(cell) is None:
                return None
        reading = Reading(
            {
                name: float(printed[n].rstrip("%"))
                for n, name in enumerate(self._names)
                if name and n in printed
            }
        )
        if not reading.values:
            return None
        if self._is_of_classes:
            reading.part, reading.is_here = Part.EVAL, True
            return reading
        return self._placed(reading, cells, is_repeated=is_repeated)

    def _placed(self, reading: Reading, cells: list[str], *, is_repeated: bool) -> Reading | None:
        """The reading of a row with its place; None where it has none, or goes back."""
        if self._epoch >= 0:
            epoch, _, of = cells[self._epoch].partition("/")
            reading.epoch, reading.num_epochs = count(epoch), count(of or None)
        if self._step >= 0:
            reading.step, reading.is_global_step = count(cells[self._step].partition("/")[0]), True
        place = reading.step if self._step >= 0 else reading.epoch
        if place is None or place < self._last + (not is_repeated):
            return None
        self._last = place
        return reading

    def _box_row(self, text: str) -> bool:
        """Take a row of a box; whether the line may be one."""
        match = _BOX_ROW.fullmatch(text)
        if match is None or len(self._box) >= _MOST_ROWS:
            return False
        name, value = match["name"], match["value"]
        if not value and name.endswith("/"):
            self._section = name
        elif _NUMBER.fullmatch(value) is not None:
            self._box.setdefault(f"{self._section}{name.rpartition('/')[2]}", value)
        else:
            return False
        return True

    def _close_box(self, text: str) -> Reading | None:
        if len(text) < _SHORTEST_RULE or text.strip("-=+"):
            return None
        box, self._box, self._section = self._box, {}, ""
        step = next(
            (count(value) for key, value in box.items() if key.rpartition("/")[2] in _BOX_STEPS), None
        )
        if step is None:
            return None
        reading = Reading(step=step, is_global_step=True)
        for key, value in box.items():
            name = _box_name(key)
            if name is not None:
                reading.values[name] = float(value.rstrip("%"))
        return reading if reading.values else None


def _is_name(cell: str) -> bool:
    return _CELL.fullmatch(cell) is not None and len(cell.split()) <= _MOST_WORDS


def _names_of(cells: list[str]) -> list[str | None]:
    """The metric of each column: one without a part is the validation's where columns of it have begun."""
    keys = [_OWN_NAMES.get(cell.lower(), cell.lower().replace(" ", "_").rstrip(")")) for cell in cells]
    parts = [split_part(key)[0] for key in keys]
    is_spacy = keys[:2] == ["e", "#"]
    default = Part.EVAL if keys[0] in _CLASSES else Part.TRAIN
    names: list[str | None] = []
    for key, part in zip(keys, parts, strict=True):
        if part is Part.EVAL and Part.TRAIN in parts:
            default = Part.EVAL
        is_of_spacy = is_spacy and key.isidentifier() and key not in _EPOCHS
        if is_known(key) or is_ours(key):
            names.append(metric_name(key, default=Part.TRAIN if is_ours(key) else default))
        else:
            names.append(f"eval/{key}" if is_of_spacy else None)
    return names


def _box_name(key: str) -> str | None:
    section, _, name = key.rpartition("/")
    if name in _BOX_STEPS or section in _BOX_CLOCKS or name in _BOX_CLOCKS:
        return None
    if section and not split_part(key)[0]:
        return key
    return metric_name(key) if section or is_known(name) or is_ours(name) else None
