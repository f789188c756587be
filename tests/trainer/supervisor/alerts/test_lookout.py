"""The lookout: one open alert per category, closed with the attempt, and never in the supervisor's way."""

from __future__ import annotations

import math
from array import array
from pathlib import Path
from typing import Any

from tests.trainer.supervisor.alerts.rig import Watched
from trainer.protocol.batches import Batch, Block
from trainer.protocol.events import Stream, check_event
from trainer.supervisor.alerts.lookout import MAX_SERIES, PAUSE_S
from trainer.supervisor.alerts.registry import RULES
from trainer.supervisor.alerts.rule import Alarm, Level, Rule, Situation
from trainer.supervisor.alerts.series import NUM_BINS, RECENT, Book, History, Series
from trainer.supervisor.spool_reader import SpoolReader
from trainer.supervisor.verdict import Verdict


class Above(Rule):
    """An alarm while the newest point is above 0."""

    category = "above"
    watches = ("train/x*",)
    relief = "below again"

    def look(self, book: Book, now: Situation) -> Alarm | None:
        value = max((series.last for series in book.starting_with("train/x")), default=0.0)
        return Alarm(Level.WARNING, "Above", f"{value:g}", now.step) if value > 0 else None


class Broken(Above):
    """Breaks as soon as it is asked."""

    category = "broken"

    def look(self, book: Book, now: Situation) -> Alarm | None:
        raise ZeroDivisionError


def test_one_alert_is_open_per_category_and_a_flapping_one_has_to_wait(tmp_path: Path) -> None:
    run = Watched(tmp_path, rules=[Above()])
    for step, value in enumerate([1, 2, 0, 1, 0, 1]):
        run.report([step], train__x=[float(value)])
    assert run.said == [("raised", "above"), ("resolved", "above")]
    run.clock.now += PAUSE_S
    run.report([9], train__x=[5.0])
    assert run.said[2:] == [("raised", "above")]


def test_what_comes_and_goes_inside_one_batch_is_seen(tmp_path: Path) -> None:
    run = Watched(tmp_path, rules=[Above()])
    run.report(range(2000), train__x=[1.0 if 500 <= step < 800 else 0.0 for step in range(2000)])
    assert run.said == [("raised", "above"), ("resolved", "above")]


def test_a_series_that_lies_in_several_blocks_is_seen_in_order(tmp_path: Path) -> None:
    run = Watched(tmp_path, rules=[])
    seen: list[int] = []

    class Notes(Rule):
        category = "notes"
        watches = ("train/loss",)

        def take(self, series: Series, steps: Any, values: Any) -> None:
            seen.extend(steps)

        def look(self, book: Book, now: Situation) -> Alarm | None:
            return None

    run.lookout._rules.append(Notes())
    columns = [array("d", [0.0, 0.0])]
    odd = Block(1, ["train/loss"], array("q", [1, 3]), array("d", [1.0, 3.0]), columns)
    even = Block(1, ["train/loss"], array("q", [2, 4]), array("d", [2.0, 4.0]), columns)
    run.tally._take(Batch("run-1", Stream.TRAINER, 1, 4, [odd, even], []))
    assert seen == [1, 2, 3, 4]


def test_the_end_of_the_attempt_closes_what_is_open_with_its_state(tmp_path: Path) -> None:
    run = Watched(tmp_path, rules=[Above()])
    run.report([3], train__x=[1.0])
    run.lookout.end(Verdict("finished", "finished at step 3"))
    assert run.said == [("raised", "above"), ("resolved", "above")]
    assert run.told[1]["text"] == "The attempt has ended: finished at step 3."


def test_a_crash_is_the_last_alert_and_stays_open(tmp_path: Path) -> None:
    run = Watched(tmp_path, rules=[Above()])
    run.report([3], train__x=[1.0])
    run.lookout.end(Verdict("failed", "the trainer was ended by SIGSEGV"))
    assert run.said == [("raised", "above"), ("resolved", "above"), ("raised", "crash")]
    assert "SIGSEGV" in run.told[2]["text"]


def test_a_wish_is_no_crash(tmp_path: Path) -> None:
    run = Watched(tmp_path, rules=[])
    run.lookout.end(Verdict("stopped", "stopped as asked at step 3"))
    assert run.said == []


def test_a_rule_that_breaks_is_left_out_and_the_others_go_on(tmp_path: Path) -> None:
    run = Watched(tmp_path, rules=[Broken(), Above()])
    run.report([1], train__x=[1.0])
    run.report([2], train__x=[0.0])
    assert run.said == [("raised", "above"), ("resolved", "above")]


def test_the_samples_are_looked_at_once_a_second(tmp_path: Path) -> None:
    looked: list[Situation] = []

    class Notes(Rule):
        category = "notes"

        def look(self, book: Book, now: Situation) -> Alarm | None:
            looked.append(now)
            return None

    run = Watched(tmp_path, rules=[Notes()])
    for _ in range(10):
        run.clock.now += 0.25
        run.lookout.look(stall="it hangs", process={"rss_bytes": 5.0})
    assert len(looked) == 3
    assert (looked[0].stall, looked[0].rss_bytes) == ("it hangs", 5.0)
    assert looked[0].free_bytes is not None
    assert looked[0].memory is not None


def test_what_is_told_is_a_sound_event_of_the_supervisor(tmp_path: Path) -> None:
    run = Watched(tmp_path, rules=[Above()])
    run.report([3], train__x=[1.0])
    [batch] = SpoolReader(run.paths.spool(Stream.SUPERVISOR), run="run-1", stream=Stream.SUPERVISOR).read()
    [event] = [check_event(event) for event in batch.events]
    assert {name: event[name] for name in ("type", "category", "what", "level", "title", "text", "step")} == {
        "type": "alert", "category": "above", "what": "raised", "level": "warning",
        "title": "Above", "text": "1", "step": 3,
    }  # fmt: skip
    assert run.tally.alerts == ["Above: 1"]


def test_any_number_of_series_costs_a_bounded_memory(tmp_path: Path) -> None:
    run = Watched(tmp_path, rules=[Above()])
    for number in range(5 * MAX_SERIES):
        run.feed([number], {f"train/x{number}": [0.0]})
    assert len(run.lookout._watchers) <= MAX_SERIES


def test_every_rule_has_its_own_category_and_words_for_its_end() -> None:
    assert len({rule.category for rule in RULES}) == len(RULES)
    assert all(rule.relief.endswith(".") and rule.relief != Rule.relief for rule in RULES)


def test_every_rule_is_documented() -> None:
    page = (Path(__file__).resolve().parents[4] / "docs" / "alerts.md").read_text(encoding="utf-8")
    assert [rule.category for rule in RULES if f"`{rule.category}`" not in page] == []


def test_a_history_keeps_the_means_of_a_series_of_any_length() -> None:
    history = History()
    for begin in range(0, 100_000, 1000):
        history.add([float(value) for value in range(begin, begin + 1000)])
    assert len(history.means) < NUM_BINS
    assert history.means[0] == (history.width - 1) / 2
    assert history.means == sorted(history.means)


def test_a_series_knows_its_start_its_level_and_its_bad_points() -> None:
    series = Series("train/loss")
    series.add(array("q", range(1, 101)), array("d", [float(value) for value in range(100)]))
    assert (series.count, series.start, series.last, len(series.recent)) == (100, 4.5, 99.0, RECENT)
    assert series.level(10) == 94.5
    series.add(array("q", [101, 102, 103]), array("d", [math.nan, math.inf, 7.0]))
    assert (series.num_bad, series.num_good, series.bad_step, series.last) == (0, 1, 101, 7.0)
