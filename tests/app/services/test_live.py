"""The live feed: at once after a pause, together when busy, silent where nobody watches."""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from app.services.live import MAX_OUTPUT_BYTES, MAX_POINTS, PUSH_EVERY_S, LiveFeed
from app.store.chunk_codec import Columns

Message = tuple[str, dict[str, Any], list[str]]


def columns(steps: list[int], values: list[float]) -> Columns:
    """Points at ``steps``, one second apart."""
    return Columns(np.array(steps, np.int64), np.array(steps, np.float64), np.array(values, np.float64))


class Watching:
    """A feed, and what it has sent."""

    def __init__(self) -> None:
        self.sent: queue.Queue[Message] = queue.Queue()
        self.loaded: list[str] = []
        self.feed = LiveFeed(emit=lambda *message: self.sent.put(message), load_run=self.load)

    def load(self, run_id: str) -> dict[str, Any] | None:
        self.loaded.append(run_id)
        return None if run_id == "gone" else {"id": run_id}

    def next(self) -> Message:
        return self.sent.get(timeout=5)

    def push_points(self, start: int, count: int, *, name: str = "train/loss") -> None:
        steps = list(range(start, start + count))
        self.feed.points("r1", name, start, columns(steps, [1.0] * count))


@pytest.fixture
def watching() -> Iterator[Watching]:
    watching = Watching()
    watching.feed.start()
    yield watching
    watching.feed.close()


def test_the_first_points_after_a_pause_are_pushed_at_once(watching: Watching) -> None:
    watching.feed.watch("run:r1")
    before = time.monotonic()
    watching.push_points(0, 2)
    event, payload, rooms = watching.next()
    assert time.monotonic() - before < PUSH_EVERY_S
    assert (event, rooms) == ("points", ["run:r1"])
    assert payload == {
        "run": "r1",
        "series": [
            {"name": "train/loss", "start": 0, "steps": [0, 1], "times": [0.0, 1.0], "values": [1.0, 1.0]}
        ],
    }


def test_points_of_a_busy_run_go_out_together_and_in_order(watching: Watching) -> None:
    watching.feed.watch("run:r1")
    for start in range(100):
        watching.push_points(start, 1)
    received: list[int] = []
    messages = 0
    while len(received) < 100:
        _, payload, _ = watching.next()
        messages += 1
        for series in payload["series"]:
            assert series["start"] == len(received)
            received += series["steps"]
    assert received == list(range(100))
    assert messages <= 5


def test_a_run_is_pushed_at_most_ten_times_a_second(watching: Watching) -> None:
    watching.feed.watch("run:r1")
    arrivals = []
    for start in range(3):
        watching.push_points(start, 1)
        watching.next()
        arrivals.append(time.monotonic())
    assert arrivals[2] - arrivals[0] >= 2 * PUSH_EVERY_S * 0.9


def test_more_points_than_a_push_takes_are_told_by_their_number(watching: Watching) -> None:
    watching.feed.watch("run:r1")
    watching.push_points(0, MAX_POINTS + 1)
    assert watching.next()[1]["series"] == [{"name": "train/loss", "total_points": MAX_POINTS + 1}]


def test_values_that_json_cannot_say_become_null(watching: Watching) -> None:
    watching.feed.watch("run:r1")
    watching.feed.points("r1", "train/loss", 0, columns([0, 1, 2], [math.nan, math.inf, 1.0]))
    assert watching.next()[1]["series"][0]["values"] == [None, None, 1.0]


def test_a_hole_starts_a_new_piece_that_says_where_it_starts(watching: Watching) -> None:
    feed = LiveFeed(emit=lambda *message: watching.sent.put(message), load_run=lambda _: None)
    feed.watch("run:r1")
    feed.points("r1", "a", 0, columns([0], [0.0]))
    feed.points("r1", "a", 7, columns([7], [7.0]))
    feed.start()
    assert watching.next()[1]["series"] == [
        {"name": "a", "start": 7, "steps": [7], "times": [7.0], "values": [7.0]}
    ]
    feed.close()


def test_nothing_is_computed_for_a_room_without_watchers(watching: Watching) -> None:
    watching.push_points(0, 1)
    watching.feed.run_changed("r1")
    watching.feed.output("r1", 1, 0, b"hello")
    watching.feed.event("r1", {"type": "alert"})
    watching.feed.snapshot("r1", "docs", 0, {})
    watching.feed.watch("runs")
    watching.feed.run_changed("r2")
    assert watching.next() == ("run", {"id": "r2"}, ["runs", "run:r2"])
    assert watching.loaded == ["r2"]
    assert watching.sent.empty()


def test_who_has_left_is_told_nothing(watching: Watching) -> None:
    watching.feed.watch("run:r1")
    watching.feed.watch("run:r1")
    watching.feed.unwatch("run:r1")
    watching.push_points(0, 1)
    assert watching.next()[0] == "points"
    watching.feed.unwatch("run:r1")
    watching.push_points(1, 1)
    watching.feed.watch("run:r2")
    watching.feed.run_changed("r2")
    assert watching.next()[0] == "run"


def test_output_is_joined_and_keeps_its_offset(watching: Watching) -> None:
    feed = LiveFeed(emit=lambda *message: watching.sent.put(message), load_run=lambda _: None)
    feed.watch("run:r1")
    feed.output("r1", 1, 10, b"ab")
    feed.output("r1", 1, 12, "né".encode())
    feed.start()
    expected = {"run": "r1", "attempt": 1, "offset": 10, "num_bytes": 5, "text": "abné"}
    assert watching.next() == ("output", expected, ["run:r1"])
    feed.output("r1", 1, 15, b"x" * (MAX_OUTPUT_BYTES + 3))
    assert watching.next()[1]["offset"] == 18
    feed.close()


def test_a_snapshot_reaches_the_run_and_its_dataset(watching: Watching) -> None:
    watching.feed.watch("evolution:docs")
    watching.feed.snapshot("r1", "docs", 50, {"accuracy": 0.5})
    payload = {"run": "r1", "dataset": "docs", "step": 50, "summary": {"accuracy": 0.5}}
    assert watching.next() == ("snapshot", payload, ["run:r1", "evolution:docs"])


def test_a_deleted_run_is_said_and_a_vanished_one_is_passed_over(watching: Watching) -> None:
    watching.feed.watch("runs")
    watching.feed.run_changed("gone")
    watching.feed.deleted("r1")
    assert watching.next() == ("deleted", {"run": "r1"}, ["runs", "run:r1"])


def test_a_message_that_cannot_be_sent_does_not_end_the_feed() -> None:
    sent: queue.Queue[str] = queue.Queue()

    def emit(event: str, payload: dict[str, Any], rooms: list[str]) -> None:
        if payload.get("id") == "bad":
            raise OSError("no route")
        sent.put(payload["id"])

    feed = LiveFeed(emit=emit, load_run=lambda run_id: {"id": run_id})
    feed.watch("runs")
    feed.run_changed("bad")
    feed.start()
    feed.run_changed("good")
    assert sent.get(timeout=5) == "good"
    feed.close()


def test_closing_pushes_what_is_left() -> None:
    sent: list[str] = []
    feed = LiveFeed(emit=lambda event, *_: sent.append(event), load_run=lambda _: {})
    feed.watch("run:r1")
    feed.start()
    feed.event("r1", {"type": "alert"})
    feed.event("r1", {"type": "alert"})
    feed.close()
    assert sent == ["event", "event"]
