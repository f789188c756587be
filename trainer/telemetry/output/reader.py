"""Reads the output of a script as it is written: text goes in, events come out.

Nothing here knows what the script is. A line becomes metrics only on evidence
(see :mod:`trainer.telemetry.output.pairs`), a bar counts steps only when its
words, its metrics or the lines beside it say so. What is not understood is
left alone; nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from trainer.protocol.events import Phase
from trainer.telemetry.output.bars import Bar, BarKind, read_bar
from trainer.telemetry.output.lines import LineSplitter
from trainer.telemetry.output.names import Part
from trainer.telemetry.output.objects import object_start, read_object
from trainer.telemetry.output.pairs import read_pairs, read_place, without_prefix
from trainer.telemetry.output.patterns import PLACES, UserPattern, metric_name
from trainer.telemetry.output.placing import Place
from trainer.telemetry.output.reading import Reading, count
from trainer.telemetry.output.saying import Sayer
from trainer.telemetry.output.settings import OutputSettings
from trainer.telemetry.output.tables import Tables

_HINT: Final = re.compile(
    r"loss|epoch|it/s|s/it|/s[,\]]|acc|perp|ppl|auc|f1|prec|recall|/step|nll|psnr|ssim|bleu|rouge|m[as][ep]|err|r2|wer"
    r"|cer|iou|dice|reward|return|mrr|ndcg|map|top|elbo|fid|mcc|kl|bp[cb]|mape|crps|learn:|'s l[12]"
)
_DIGIT: Final = re.compile(r"\d")
_ANNOUNCED: Final = re.compile(
    r"\W*(?P<part>test|testing|val|valid|validation|eval|evaluation)"
    r"(?:[ ](?:error|results?|metrics?|set|scores?|summary))?[ :=-]*",
    re.IGNORECASE,
)
_WAIT_S: Final = 2.0  # for the bar that says at which step a dict was printed


class OutputReader:
    """Follows the output of one attempt; not thread-safe."""

    def __init__(self, settings: OutputSettings | None = None, *, from_step: int = 0) -> None:
        """``from_step`` is where the attempt begins, for output that counts no steps itself."""
        settings = settings or OutputSettings()
        self._settings = settings
        self._lines = LineSplitter()
        self._place = Place(from_step=from_step, steps_per_report=settings.steps_per_report)
        self._say = Sayer(self._place)
        self._patterns = [UserPattern(pattern) for pattern in settings.patterns]
        self._in_traceback = False
        self._bar: Bar | None = None  # the newest that counts the training, or may do so
        self._is_sure = False  # that it counts the training
        self._other: Bar | None = None  # the newest without words beside it
        self._keras_open = False
        self._tables = Tables()
        self._word = ""  # what the training calls its steps
        self._announced: Part | None = None  # the part that the line above has announced
        self._waiting: tuple[Reading, float] | None = None
        self._t = 0.0

    @property
    def step(self) -> int:
        """The newest training step."""
        return self._place.step

    @property
    def has_trained(self) -> bool:
        """Whether anything of a training was read."""
        return self._say.has_trained

    def feed(self, text: str, t: float) -> list[dict[str, Any]]:
        """Take what was written until ``t`` (any clock, seconds); the events it is, in order."""
        self._t = t
        for line in self._lines.feed(text):
            self._read(line)
        if self._waiting is not None and t - self._waiting[1] >= _WAIT_S:
            self._settle()
        return self._say.take()

    def close(self) -> list[dict[str, Any]]:
        """The events of what nobody has ended with a newline."""
        for line in self._lines.flush():
            self._read(line)
        self._settle()
        return self._say.take()

    def _read(self, line: str) -> None:
        if self._patterns and self._read_own(line):
            return
        if not self._settings.formats:
            return
        reading = self._tables.read(line)
        if reading is not None:
            self._take(reading)
            return
        announced, self._announced = self._announced, None
        if _DIGIT.search(line) is None and "nan" not in line.lower():
            self._announced = _announced(line)
            self._note_traceback(line)
            return
        if ("loss" not in line and _HINT.search(line.lower()) is None) or self._note_traceback(line):
            return
        bar = read_bar(line)
        if bar is not None:
            self._tables.take_bar(bar)
            self._take_bar(bar)
            line = "" if bar.is_keras else bar.rest
        if line:
            self._read_line(line, announced)

    def _read_line(self, line: str, announced: Part | None) -> None:
        text = without_prefix(line)
        if text is None:
            return
        reading = _read_text(text.strip(), is_indented=text[:1] in " \t")
        if reading is None:
            return
        if announced is not None:
            reading = _belonging_to(announced, reading)
        self._take(reading)

    def _note_traceback(self, line: str) -> bool:
        """Whether the line belongs to a traceback, whose source lines look like assignments."""
        if line.startswith("Traceback (most recent call last)"):
            self._in_traceback = True
            return True
        if not self._in_traceback:
            return False
        self._in_traceback = line.startswith((" ", "\t"))
        return True

    def _read_own(self, line: str) -> bool:
        for pattern in self._patterns:
            was_used = pattern.trouble is None
            groups = pattern.search(line)
            if was_used and pattern.trouble is not None:
                self._say.alert(
                    "A pattern for the output was switched off",
                    f"{pattern.pattern!r:.200}: {pattern.trouble}. Write it more narrowly in script.toml.",
                )
            reading = None if groups is None else _own_reading(groups)
            if reading is not None:
                self._take(reading)
                return True
        return False

    def _take(self, reading: Reading) -> None:
        place = self._place
        place.enter(reading.epoch, reading.num_epochs)
        if reading.is_epoch_header:
            self._keras_open = True
            return
        if reading.part is not Part.TRAIN and _counts_itself(reading):
            self._say.phase(
                Phase.EVALUATING,
                self._t,
                detail="evaluating",
                fraction=_fraction(reading.step, reading.total),
            )
            return
        if self._must_wait(reading):
            self._settle()
            self._waiting = (reading, self._t)
            return
        step = self._step_of(reading)
        if step is not None:
            self._say_metrics(reading, step)

    def _step_of(self, reading: Reading) -> int | None:
        place = self._place
        if reading.is_final:
            return place.step
        if reading.step is not None and reading.is_global_step:
            return place.named(reading.step, total=reading.total)
        if self._is_other_count(reading):
            return place.step
        if reading.part is not Part.TRAIN:
            if place.step or reading.step is None:
                return place.step if place.is_counted else self._uncounted(reading)
            return place.named(reading.step)
        if reading.step is not None:
            self._word = reading.word or self._word
            return place.counted("lines", reading.step, total=reading.total)
        return self._uncounted(reading)

    def _is_other_count(self, reading: Reading) -> bool:
        """Whether an evaluation names batches where the training names steps."""
        is_other = bool(reading.word and self._word) and reading.word[:4] != self._word[:4]
        return is_other and not _has_training(reading.values)

    def _uncounted(self, reading: Reading) -> int:
        is_repeated = self._say.is_repeated(reading.values, step=self._place.step)
        if reading.epoch is not None:
            return self._place.by_epoch(is_repeated=is_repeated)
        return self._place.next(is_repeated=is_repeated)

    def _say_metrics(self, reading: Reading, step: int) -> None:
        if reading.progress_epoch is not None and 0 <= reading.progress_epoch < 1e6:
            self._place.epoch = reading.progress_epoch
        if _has_training(reading.values):
            self._say.trains(self._t)
        elif not reading.is_final and self._place.is_counted is False:
            self._say.has_trained = True
        self._say.metrics(step, reading.values)

    def _must_wait(self, reading: Reading) -> bool:
        """Whether the bar that is drawn next will say at which step this was printed."""
        if reading.has_place or reading.is_final or reading.is_here or self._bar is None:
            return False
        if self._is_sure:
            self._turn_to_other(reading)
            return True
        if _is_open(self._bar) or reading.progress_epoch is not None:
            self._is_sure = True
            return True
        return False

    def _turn_to_other(self, reading: Reading) -> None:
        """What is measured after a training is over belongs to the next bar without words."""
        other = self._other
        is_over = self._bar is not None and not _is_open(self._bar)
        if is_over and other is not None and _is_open(other) and _has_training(reading.values):
            self._bar, self._other = other, None

    def _settle(self) -> None:
        """Say what waits, at the step the newest bar showed."""
        if self._waiting is None:
            return
        reading, self._waiting = self._waiting[0], None
        bar = self._bar
        if bar is not None and self._is_sure:
            self._place.counted("bar", bar.n, total=bar.total)
        self._say_metrics(reading, self._place.step)

    def _take_bar(self, bar: Bar) -> None:
        if bar.is_keras:
            self._take_keras(bar)
        elif bar.kind is BarKind.EVALUATING:
            self._take_evaluation(bar)
        elif bar.kind is BarKind.EPOCHS:
            self._place.num_epochs = bar.total or self._place.num_epochs
            if bar.values:
                self._take(Reading(bar.values, epoch=bar.n + 1, num_epochs=bar.total))
        elif bar.kind is BarKind.TRAINING:
            self._bar, self._is_sure = bar, True
            self._advance(bar)
        elif bar.kind is BarKind.NAMELESS:
            self._take_nameless(bar)
        elif not self._say.has_trained:
            self._say.phase(
                Phase.LOADING,
                self._t,
                detail=bar.desc[:80] or "loading",
                fraction=_fraction(bar.n, bar.total),
            )

    def _take_nameless(self, bar: Bar) -> None:
        """A bar without words: the training, once metrics came beside it; another one meanwhile evaluates."""
        present = self._bar
        is_same = present is not None and (present.desc, present.total) == (bar.desc, bar.total)
        if self._is_sure and present is not None:
            is_unfinished = present.total is not None and present.n < present.total
            if is_same and not (is_unfinished and bar.n < present.n):
                self._bar = bar
                self._advance(bar)
            else:
                self._other = bar
                self._evaluates("", _fraction(bar.n, bar.total))
            return
        self._bar = bar
        if not self._say.has_trained:
            self._loads(bar)

    def _advance(self, bar: Bar) -> None:
        """A bar of the training was drawn."""
        self._place.enter(bar.epoch, bar.num_epochs)
        before = self._place.step
        step = self._place.counted("bar", bar.n, total=bar.total)
        waiting, self._waiting = self._waiting, None
        if step is None:
            return
        if waiting is not None:
            self._say_metrics(waiting[0], max(step, before))
        if step > before or bar.n == bar.total:
            self._say.trains(self._t)
            self._say.metrics(step, self._say.without_stale(bar.values))

    def _take_evaluation(self, bar: Bar) -> None:
        self._evaluates(bar.desc, _fraction(bar.n, bar.total))
        if bar.values and bar.n == bar.total:
            self._say.metrics(self._place.step, self._say.without_stale(bar.values))

    def _evaluates(self, what: str, fraction: float | None) -> None:
        self._say.phase(Phase.EVALUATING, self._t, detail=what[:80] or "evaluating", fraction=fraction)

    def _loads(self, bar: Bar) -> None:
        what = bar.desc[:80] or f"{bar.n} of {bar.total}"
        self._say.phase(Phase.LOADING, self._t, detail=what, fraction=_fraction(bar.n, bar.total))

    def _take_keras(self, bar: Bar) -> None:
        """A bar below the line ``Epoch 3/10`` trains, any other one evaluates or predicts."""
        is_end = bar.total is not None and bar.n >= bar.total
        of_epoch = self._bar is not None and self._bar.is_keras and self._bar.total == bar.total
        has_validation = any(name.startswith("eval/") for name in bar.values)
        if self._keras_open or (of_epoch and is_end and has_validation):
            self._bar, self._is_sure = bar, True
            self._keras_open = not is_end
            self._advance(bar)
        elif bar.values and is_end:
            values = {f"eval/{name.partition('/')[2]}": value for name, value in bar.values.items()}
            self._say.metrics(self._place.step, self._say.without_stale(values))


def _read_text(text: str, *, is_indented: bool) -> Reading | None:
    start = object_start(text)
    if start < 0:
        reading = read_pairs(text)
        if reading is not None and is_indented and not reading.has_place and " = " in text:
            return None  # a line of a program, or a summary of what was said before
        return reading
    reading = read_object(text[start:])
    if reading is not None and start > 0 and reading.step is None:
        reading.is_global_step = False
        read_place(text[:start], reading)
    return reading


def _announced(line: str) -> Part | None:
    """The part that a line announces which holds nothing else, as ``Test Error:`` does."""
    match = _ANNOUNCED.fullmatch(line)
    if match is None:
        return None
    return Part.TEST if match["part"].lower().startswith("test") else Part.EVAL


def _belonging_to(part: Part, reading: Reading) -> Reading:
    """The reading with its values called those of ``part``, unless it says itself whose they are."""
    if reading.part is Part.TRAIN and not reading.has_place:
        reading.values = {
            f"{part.value}/{name.partition('/')[2]}": value for name, value in reading.values.items()
        }
        reading.part = part
    return reading


def _own_reading(groups: dict[str, str]) -> Reading | None:
    """What a user's pattern has found; None where a metric is no number."""
    reading = Reading(step=count(groups.get("step")), total=count(groups.get("total_steps")))
    reading.epoch, reading.num_epochs = count(groups.get("epoch")), count(groups.get("num_epochs"))
    reading.is_global_step = reading.step is not None and reading.epoch is None
    try:
        reading.values = {
            metric_name(name): float(text) for name, text in groups.items() if name not in PLACES
        }
    except ValueError:
        return None
    return reading if reading.values or reading.has_place else None


def _counts_itself(reading: Reading) -> bool:
    """Whether an evaluation is under way, whose values so far are means of a part of it."""
    return reading.step is not None and reading.total is not None and reading.step + 1 < reading.total


def _is_open(bar: Bar) -> bool:
    return bar.total is None or bar.n < bar.total


def _has_training(values: Mapping[str, float]) -> bool:
    return any(name.startswith("train/") for name in values)


def _fraction(n: int | None, total: int | None) -> float | None:
    return n / total if n is not None and total else None
