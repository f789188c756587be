"""Runs the rules of one attempt and spools what they say: raised once, resolved once, per category.

Nothing here may disturb the supervisor: a rule that breaks is logged and
left out from then on.
"""

from __future__ import annotations

import logging
import shutil
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from trainer.protocol.batches import Batch, Block
from trainer.protocol.events import EventType
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.alerts import crash
from trainer.supervisor.alerts.advice import Advice, no_advice
from trainer.supervisor.alerts.memory_now import MemoryGauge
from trainer.supervisor.alerts.registry import new_rules
from trainer.supervisor.alerts.rule import Alarm, Rule, Situation
from trainer.supervisor.alerts.series import Book
from trainer.supervisor.own_spool import OwnSpool
from trainer.supervisor.tally import Tally
from trainer.supervisor.verdict import Verdict

Points: TypeAlias = "tuple[array[int], array[float]]"  # steps and values
log = logging.getLogger(__name__)
EVERY_S: Final = 1.0
SLICE: Final = 256  # points between two looks, so that what comes and goes inside one batch is seen
PAUSE_S: Final = 60.0  # before a category that was resolved may be raised again
MAX_SERIES: Final = 64
_SLOW_EVERY: Final = 5  # looks between two questions to disk and control group
_LOSS: Final = "train/loss"


class Lookout:
    """Watches one attempt; hears of every batch the tally reads."""

    def __init__(
        self,
        paths: RunPaths,
        *,
        attempt: int,
        spool: OwnSpool,
        tally: Tally,
        rules: Sequence[Rule] | None = None,
        advice: Advice = no_advice,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._paths = paths
        self._attempt = attempt
        self._spool = spool
        self._tally = tally
        self._clock = clock
        self._rules = list(new_rules() if rules is None else rules)
        self._book = Book()
        self._memory = MemoryGauge()
        self._watchers: dict[str, list[Rule]] = {}  # by series name; empty where nobody watches
        self._active: dict[str, Alarm] = {}
        self._resolved_at: dict[str, float] = {}
        self._now = Situation(at=clock(), checkpoint_bytes=_largest_checkpoint(paths), advice=advice)
        self._looked_at = -EVERY_S
        self._num_looks = 0
        tally.listener = self.take

    def take(self, batch: Batch) -> None:
        """Show the rules what the trainer has reported."""
        if batch.blocks:
            self._take_slices(batch.blocks)
        for event in batch.events:
            if event["type"] == EventType.CHECKPOINT and isinstance(event.get("bytes"), int):
                largest = max(self._now.checkpoint_bytes, event["bytes"])
                self._now = replace(self._now, checkpoint_bytes=largest)

    def look(self, *, stall: str, process: Mapping[str, float]) -> None:
        """Once a second: look at what is no series, and let every rule judge."""
        at = self._clock()
        if at - self._looked_at < EVERY_S:
            return
        self._looked_at = at
        if self._num_looks % _SLOW_EVERY == 0:
            self._now = replace(self._now, free_bytes=_free_bytes(self._paths))
        self._num_looks += 1
        rss = process.get("rss_bytes")
        self._now = replace(self._now, stall=stall, rss_bytes=rss, memory=self._memory.read())
        self._judge(self._rules)

    def end(self, verdict: Verdict) -> None:
        """Close what is open with the attempt's end, and tell a crash."""
        self._judge(self._rules)
        for category in list(self._active):
            self._resolve(category, f"The attempt has ended: {verdict.reason}.")
        alarm = crash.crash_alarm(verdict, step=self._tally.step)
        if alarm is not None:
            self._tell(crash.CATEGORY, alarm)

    def _take_slices(self, blocks: Sequence[Block]) -> None:
        """Points of all series in the order of their steps, as far as slices go.

        A batch groups its points by the names they came with, so one series may lie in several blocks.
        """
        slices = []
        for name, (steps, values) in self._columns(blocks).items():
            slices += [
                (steps[at], name, steps[at : at + SLICE], values[at : at + SLICE])
                for at in range(0, len(steps), SLICE)
            ]
        slices.sort(key=itemgetter(0))
        for _, together in groupby(slices, key=itemgetter(0)):
            concerned: dict[int, Rule] = {}
            for _, name, steps, values in together:
                self._show(name, steps, values)
                concerned.update((id(rule), rule) for rule in self._watchers[name])
            self._judge(concerned.values())

    def _columns(self, blocks: Sequence[Block]) -> dict[str, Points]:
        """The points of every watched series, by step."""
        found: dict[str, Points] = {}
        for block in blocks:
            for name, values in zip(block.names, block.values, strict=True):
                if block.count and self._watchers_of(name):
                    known = found.get(name)
                    found[name] = (
                        (block.steps, values) if known is None else _merged(known, block.steps, values)
                    )
        return found

    def _show(self, name: str, steps: array[int], values: array[float]) -> None:
        series = self._book.open(name)
        if steps[0] < series.last_step:
            series = self._book.forget(name)  # it went back: what was seen is superseded
        for rule in list(self._watchers[name]):
            try:
                rule.take(series, steps, values)
            except Exception:  # a rule must never end the watching
                log.exception("the rule %s broke and is left out", rule.category)
                self._leave_out(rule)
        series.add(steps, values)

    def _watchers_of(self, name: str) -> list[Rule]:
        watchers = self._watchers.get(name)
        if watchers is None:
            if len(self._watchers) >= MAX_SERIES and not name.startswith(("train/loss", "eval/")):
                return []
            watchers = [rule for rule in self._rules if _watches(rule, name)]
            self._watchers[name] = watchers
        return watchers

    def _judge(self, rules: Iterable[Rule]) -> None:
        tally = self._tally
        self._now = replace(
            self._now, at=self._clock(), step=tally.step, total_steps=_positive(tally.total_steps)
        )
        for rule in list(rules):
            try:
                alarm = rule.look(self._book, self._now)
            except Exception:
                log.exception("the rule %s broke and is left out", rule.category)
                self._leave_out(rule)
                continue
            self._conclude(rule, alarm)

    def _conclude(self, rule: Rule, alarm: Alarm | None) -> None:
        category = rule.category
        if alarm is None:
            if category in self._active:
                self._resolve(category, rule.relief)
        elif category not in self._active:
            paused_until = self._resolved_at.get(category, -PAUSE_S) + PAUSE_S
            if self._clock() >= paused_until:
                self._active[category] = alarm
                self._tell(category, alarm)

    def _tell(self, category: str, alarm: Alarm) -> None:
        log.warning("step %d: %s: %s", alarm.step, alarm.title, alarm.text)
        self._tally.alerts.append(f"{alarm.title}: {alarm.text}")
        self._event("raised", category, alarm, text=alarm.text, step=alarm.step)

    def _resolve(self, category: str, words: str) -> None:
        alarm = self._active.pop(category)
        self._resolved_at[category] = self._clock()
        self._event("resolved", category, alarm, text=words, step=self._tally.step)

    def _event(self, what: str, category: str, alarm: Alarm, *, text: str, step: int) -> None:
        fields = {"category": category, "what": what, "level": alarm.level.value, "title": alarm.title}
        self._spool.append(EventType.ALERT, attempt=self._attempt, **fields, text=text, step=max(0, step))

    def _leave_out(self, rule: Rule) -> None:
        self._rules = [one for one in self._rules if one is not rule]
        for watchers in self._watchers.values():
            watchers[:] = [one for one in watchers if one is not rule]
        if rule.category in self._active:
            self._resolve(rule.category, "It can no longer be judged.")


def _watches(rule: Rule, name: str) -> bool:
    return any(
        name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted for wanted in rule.watches
    )


def _merged(known: Points, steps: array[int], values: array[float]) -> Points:
    points = sorted(zip(known[0] + steps, known[1] + values, strict=True), key=itemgetter(0))
    return array("q", [step for step, _ in points]), array("d", [value for _, value in points])


def _positive(total_steps: object) -> int | None:
    return total_steps if isinstance(total_steps, int) and total_steps > 0 else None


def _free_bytes(paths: RunPaths) -> int | None:
    try:
        return shutil.disk_usage(paths.root).free
    except OSError:
        return None


def _largest_checkpoint(paths: RunPaths) -> int:
    try:
        return max((path.stat().st_size for path in paths.checkpoints.glob("*.pt")), default=0)
    except OSError:
        return 0
