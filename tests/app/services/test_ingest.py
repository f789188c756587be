"""Ingest: exactly once in effect, clear refusals, states that follow the table."""

from __future__ import annotations

import gzip
from array import array
from typing import Any

import numpy as np
import pytest

from app.domain.run_states import RunState
from app.errors import InvalidRequest, NotFound, TooLarge
from app.services import ingest_snapshots
from app.services.ingest import Ingest, SequenceGap
from app.services.metrics import MetricReader
from app.store import runs, snapshots
from app.store.engine import Store
from tests.app.rows import (
    Heard,
    events_batch,
    metrics_batch,
    new_run,
    snapshot_content,
    snapshot_file,
    state_of,
    store_running,
)
from trainer.protocol.batches import Batch, Block
from trainer.protocol.events import Stream


@pytest.fixture(autouse=True)
def _running(store: Store) -> None:
    store_running(store)


def test_a_batch_is_stored_and_announced_after_the_commit(store: Store, ingest: Ingest, heard: Heard) -> None:
    assert ingest.accept(metrics_batch(1, [3.0, 2.0])) == 2
    assert heard.news == [("points", "train/loss", 0, [1, 2], [3.0, 2.0]), ("run_changed", "run-1")]
    run = state_of(store)
    assert (run.latest, run.step, run.progress_at) == ({"train/loss": 2.0}, 2, 1.7e9 + 2)
    assert ingest.hello("run-1", attempt=1) == {"trainer": 2, "supervisor": 0, "output": {"1": 0}}


def test_a_batch_sent_twice_changes_nothing(store: Store, ingest: Ingest, heard: Heard) -> None:
    ingest.accept(metrics_batch(1, [3.0, 2.0]))
    heard.news.clear()
    assert ingest.accept(metrics_batch(1, [3.0, 2.0])) == 2
    assert heard.news == []
    assert MetricReader(store).read("run-1", "train/loss").total_points == 2


def test_a_gap_is_refused_with_what_is_there(ingest: Ingest) -> None:
    ingest.accept(metrics_batch(1, [3.0]))
    with pytest.raises(SequenceGap) as caught:
        ingest.accept(metrics_batch(3, [1.0]))
    assert caught.value.have == 1


def test_points_that_overlap_are_refused_and_events_that_overlap_are_cut(ingest: Ingest) -> None:
    ingest.accept(metrics_batch(1, [3.0, 2.0]))
    with pytest.raises(SequenceGap) as caught:
        ingest.accept(metrics_batch(2, [2.0, 1.0]))
    assert caught.value.have == 2
    ingest.accept(events_batch(1, {"type": "alert", "title": "a"}))
    assert (
        ingest.accept(events_batch(1, {"type": "alert", "title": "a"}, {"type": "alert", "title": "b"})) == 2
    )


def test_a_series_spread_over_blocks_comes_out_in_order(store: Store, ingest: Ingest) -> None:
    def block(names: list[str], steps: list[int]) -> Block:
        columns = [array("d", steps) for _ in names]
        return Block(1, names, array("q", steps), array("d", [1e9 + step for step in steps]), columns)

    ingest.accept(Batch("run-1", Stream.TRAINER, 1, 4, [block(["a"], [1, 3]), block(["a", "b"], [2, 4])]))
    read = MetricReader(store).read("run-1", "a")
    assert (read.steps.tolist(), read.values.tolist()) == ([1, 2, 3, 4], [1, 2, 3, 4])


def test_an_unknown_run_is_not_found(ingest: Ingest) -> None:
    for call in (
        lambda: ingest.accept(metrics_batch(1, [1.0], run="nobody")),
        lambda: ingest.hello("nobody", attempt=1),
        lambda: ingest.accept_output("nobody", attempt=1, offset=0, text=b"x"),
        lambda: ingest.accept_snapshot("nobody", snapshot_file(0)),
        lambda: ingest.accept_status("nobody", {"heartbeat": {}, "beat_age_s": 0.0}),
    ):
        with pytest.raises(NotFound):
            call()


def broken_blocks() -> list[tuple[str, Block]]:
    one, value = array("q", [1]), [array("d", [1.0])]
    return [
        ("names", Block(1, ["n" * 201], one, array("d", [1e9]), value)),
        ("names", Block(1, ["a\nb"], one, array("d", [1e9]), value)),
        ("steps", Block(1, ["a"], array("q", [-1]), array("d", [1e9]), value)),
        ("times", Block(1, ["a"], one, array("d", [np.nan]), value)),
        ("times", Block(1, ["a"], one, array("d", [1e300]), value)),
    ]


@pytest.mark.parametrize(("field", "block"), broken_blocks())
def test_a_broken_block_is_refused_whole_and_named(
    store: Store, ingest: Ingest, field: str, block: Block
) -> None:
    good = metrics_batch(1, [1.0]).blocks
    with pytest.raises(InvalidRequest) as caught:
        ingest.accept(Batch("run-1", Stream.TRAINER, 1, 2, [*good, block]))
    assert caught.value.field == field
    assert "block 1" in caught.value.message
    assert MetricReader(store).names("run-1") == []


@pytest.mark.parametrize(
    ("field", "event"),
    [
        ("seq", {"type": "alert", "seq": 7}),
        ("t", {"type": "alert", "t": float("inf")}),
        ("step", {"type": "progress", "step": "five"}),
        ("step", {"type": "progress", "step": 2**60}),
        ("epoch", {"type": "progress", "step": 1, "epoch": float("nan")}),
        ("name", {"type": "phase", "name": "x" * 33}),
        ("file", {"type": "checkpoint", "step": 1, "file": "../../etc/passwd"}),
        ("metrics", {"type": "checkpoint", "step": 1, "file": "a.pt", "metrics": [1]}),
        ("what", {"type": "attempt", "attempt": 1, "what": "paused"}),
        ("state", {"type": "state", "state": "exploded"}),
        ("events", {"type": "state", "state": "failed", "reason": "\ud800"}),
        ("exit_code", {"type": "state", "state": "failed", "exit_code": 2**40}),
    ],
)
def test_a_broken_event_is_refused_naming_the_field(
    store: Store, ingest: Ingest, field: str, event: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ingest.accept(events_batch(1, event))
    assert caught.value.field == field
    assert state_of(store).state == "running"
    assert ingest.hello("run-1", attempt=1)["supervisor"] == 0


def test_the_life_of_a_run_is_told_by_its_supervisor(store: Store, ingest: Ingest) -> None:
    store.write(lambda s: runs.insert_run(s, new_run("run-2")))
    store.write(lambda s: runs.transition(s, "run-2", new=RunState.STARTING))
    ingest.accept(
        events_batch(
            1,
            {"type": "state", "state": "starting"},
            {
                "type": "attempt", "what": "started", "attempt": 1, "pid": 4711, "from_step": 0,
                "command": ["python"], "environment": [{"name": "A", "value": "1"}], "device": "cpu",
            },
            {"type": "state", "state": "running"},
            run="run-2",
        )
    )  # fmt: skip
    run = state_of(store, "run-2")
    assert (run.state, run.attempt, run.device) == ("running", 1, "cpu")
    ingest.accept(
        events_batch(
            4,
            {"type": "attempt", "what": "ended", "attempt": 1, "exit_signal": 9},
            {"type": "state", "state": "failed", "reason": "killed", "exit_signal": 9},
            run="run-2",
        )
    )
    run = state_of(store, "run-2")
    assert (run.state, run.reason, run.exit_signal, run.ended_at) == ("failed", "killed", 9, 1.7e9 + 5)
    with store.read() as session:
        (attempt,) = runs.attempts(session, "run-2")
        assert (attempt.pid, attempt.exit_signal, attempt.command) == (4711, 9, ["python"])
        assert [event.type for event in runs.events(session, "run-2")] == [
            "state", "attempt", "state", "attempt", "state",
        ]  # fmt: skip


def test_a_stall_begins_and_ends_by_the_word_of_the_supervisor(store: Store, ingest: Ingest) -> None:
    def told(first: int, *events: dict[str, Any]) -> str:
        ingest.accept(events_batch(first, *events, stream=Stream.SUPERVISOR))
        return str(state_of(store).state)

    stall = {"type": "stall", "what": "began", "verdict": "deadlocked", "text": "no progress", "step": 3}
    assert told(1, stall, {"type": "state", "state": "stalled", "reason": "deadlocked: no"}) == "stalled"
    assert told(3, {"type": "state", "state": "stalled", "reason": "deadlocked: no. It stands"}) == "stalled"
    assert state_of(store).reason == "deadlocked: no. It stands"
    assert told(4, {"type": "state", "state": "running", "reason": "it advances again"}) == "running"
    with store.read() as session:
        kept = runs.events(session, "run-1", types=["stall"], limit=10)
        assert [event.body["verdict"] for event in kept] == ["deadlocked"]


def test_a_run_comes_back_from_retrying_with_its_next_attempt_and_the_plan_of_it(
    store: Store, ingest: Ingest
) -> None:
    plan = {
        "attempt": 2,
        "rungs": [
            {
                "rung": "threads", "title": "one thread", "reason": "it broke", "attempt": 2,
                "changes_numbers": False, "is_unsafe": False, "changes": {"OMP_NUM_THREADS": ["4", "1"]},
            }
        ],
        "params": {}, "environment": {"OMP_NUM_THREADS": "1"},
        "because": {"id": "heap_corruption", "cause": "It broke.", "step": 7, "attempt": 1},
    }  # fmt: skip
    words = "attempt 2 of 3 in 1 s: one thread, because it broke"
    ingest.accept(
        events_batch(
            1,
            {"type": "attempt", "what": "started", "attempt": 1, "from_step": 0},
            {"type": "attempt", "what": "ended", "attempt": 1, "exit_signal": 6, "reason": "by SIGABRT"},
            {"type": "state", "state": "retrying", "reason": words, "attempt": 1},
        )
    )
    run = state_of(store)
    assert (run.state, run.reason, run.exit_signal, run.phase) == ("retrying", words, 6, None)
    ingest.accept(
        events_batch(
            4,
            {"type": "state", "state": "starting", "reason": "attempt 2: one thread", "attempt": 2},
            {"type": "attempt", "what": "started", "attempt": 2, "from_step": 5, "plan": plan},
            {"type": "state", "state": "running", "attempt": 2},
        )
    )
    run = state_of(store)
    assert (run.state, run.attempt, run.step, run.exit_signal) == ("running", 2, 5, None)
    with store.read() as session:
        first, second = runs.attempts(session, "run-1")
        assert (first.plan, first.ended_reason) == (None, "by SIGABRT")
        assert (second.plan, second.ended_reason) == (plan, None)


def test_a_plan_that_is_none_is_refused(store: Store, ingest: Ingest) -> None:
    with pytest.raises(InvalidRequest, match="plan"):
        ingest.accept(
            events_batch(1, {"type": "attempt", "what": "started", "attempt": 1, "plan": {"rungs": 3}})
        )


def test_late_events_never_drag_an_ended_run_back(store: Store, ingest: Ingest) -> None:
    ingest.accept(events_batch(1, {"type": "state", "state": "finished"}))
    ingest.accept(
        events_batch(2, {"type": "state", "state": "running"}, {"type": "state", "state": "stopping"})
    )
    ingest.accept(events_batch(1, {"type": "phase", "name": "saving"}, stream=Stream.TRAINER))
    assert ingest.accept(metrics_batch(2, [1.0])) == 2
    run = state_of(store)
    assert (run.state, run.phase, run.latest) == ("finished", None, {"train/loss": 1.0})


def test_a_queued_run_is_not_moved_by_what_its_last_attempt_still_has_to_say(
    store: Store, ingest: Ingest
) -> None:
    ingest.accept(events_batch(1, {"type": "state", "state": "failed"}))
    store.write(lambda s: runs.transition(s, "run-1", new=RunState.QUEUED))
    ingest.accept(events_batch(2, {"type": "state", "state": "failed", "reason": "again"}))
    assert state_of(store).state == "queued"


def test_a_later_attempt_supersedes_what_was_reported_beyond_its_first_step(
    store: Store, ingest: Ingest
) -> None:
    ingest.accept(metrics_batch(1, [1.0, 2.0, 3.0, 4.0]))
    ingest.accept(events_batch(1, {"type": "attempt", "what": "started", "attempt": 1, "from_step": 0}))
    ingest.accept(events_batch(2, {"type": "attempt", "what": "started", "attempt": 2, "from_step": 2}))
    assert state_of(store).step == 2
    ingest.accept(metrics_batch(5, [30.0, 40.0], attempt=2, steps=[3, 4]))
    reader = MetricReader(store)
    read = reader.read("run-1", "train/loss")
    assert (read.values.tolist(), read.total_points) == ([1.0, 2.0, 30.0, 40.0], 6)
    assert reader.read("run-1", "train/loss", after=3).values.tolist() == [4.0, 30.0, 40.0]


def test_trailing_points_of_an_earlier_attempt_do_not_move_the_step(store: Store, ingest: Ingest) -> None:
    ingest.accept(events_batch(1, {"type": "attempt", "what": "started", "attempt": 2, "from_step": 5}))
    ingest.accept(metrics_batch(1, [1.0], steps=[9]))
    assert state_of(store).step == 5


def test_progress_is_a_register_and_no_history(store: Store, ingest: Ingest) -> None:
    progress = {"type": "progress", "step": 7, "total_steps": 70, "epoch": 0.5, "num_epochs": 3}
    ingest.accept(events_batch(1, progress, stream=Stream.TRAINER))
    run = state_of(store)
    assert (run.step, run.total_steps, run.epoch, run.num_epochs) == (7, 70, 0.5, 3)
    with store.read() as session:
        assert runs.events(session, "run-1") == []


def test_only_the_newest_best_checkpoint_is_best(store: Store, ingest: Ingest) -> None:
    for seq, step in ((1, 10), (2, 20)):
        event = {"type": "checkpoint", "step": step, "file": f"step_{step:06d}.pt", "bytes": 5, "best": True}
        ingest.accept(events_batch(seq, event, stream=Stream.TRAINER))
    with store.read() as session:
        assert [(one.step, one.best) for one in runs.checkpoints(session, "run-1")] == [
            (10, False),
            (20, True),
        ]


def test_non_finite_values_are_kept_and_named_in_the_latest(store: Store, ingest: Ingest) -> None:
    ingest.accept(metrics_batch(1, [1.0, np.nan, np.inf, -np.inf]))
    assert state_of(store).latest == {"train/loss": "-Infinity"}
    values = MetricReader(store).read("run-1", "train/loss").values
    assert np.array_equal(values, [1.0, np.nan, np.inf, -np.inf], equal_nan=True)


def test_output_is_stored_once_and_announced_where_it_is_new(ingest: Ingest, heard: Heard) -> None:
    assert ingest.accept_output("run-1", attempt=1, offset=0, text=b"abc") == 3
    assert ingest.accept_output("run-1", attempt=1, offset=1, text=b"bcde") == 5
    assert ingest.accept_output("run-1", attempt=1, offset=9, text=b"zzz") == 5
    assert heard.news == [("output", 1, 0, b"abc"), ("output", 1, 3, b"de")]


def test_a_pulse_is_noted_at_most_once_a_second(store: Store, ingest: Ingest, heard: Heard) -> None:
    beat = {"attempt": 1, "step": 12, "phase": "mining"}
    for _ in range(5):
        ingest.accept_status("run-1", {"heartbeat": beat, "beat_age_s": 0.2, "progress_age_s": 1.5})
    assert heard.news == [("run_changed", "run-1")]
    run = state_of(store)
    assert (run.step, run.phase) == (12, "mining")
    assert (run.heartbeat_at or 0) - (run.progress_at or 0) == pytest.approx(1.3)


def test_a_pulse_corrects_a_run_thought_lost(store: Store, ingest: Ingest) -> None:
    store.write(lambda s: runs.transition(s, "run-1", new=RunState.LOST))
    ingest.accept_status("run-1", {"heartbeat": {"attempt": 1, "step": 1}, "beat_age_s": 0.1})
    assert state_of(store).state == "running"


def test_a_snapshot_is_stored_once(store: Store, ingest: Ingest, heard: Heard) -> None:
    ingest.accept_snapshot("run-1", snapshot_file(10))
    ingest.accept_snapshot("run-1", snapshot_file(10))
    assert heard.news == [("snapshot", "python_docs", 10)]
    with store.read() as session:
        assert len(snapshots.list_snapshots(session, "run-1", dataset="python_docs")) == 1


def broken_snapshots() -> list[tuple[str, dict[str, Any]]]:
    columns = snapshot_content(0)["columns"]
    return [
        ("format", {"format": 2}),
        ("step", {"step": -1}),
        ("t", {"t": None}),
        ("dataset", {"dataset": ""}),
        ("columns.loss", {"columns": {**columns, "loss": [1.0]}}),
        ("columns.rank[1]", {"columns": {**columns, "rank": [1, "second"]}}),
        ("outputs", {"outputs": []}),
        ("outputs[1]", {"outputs": [{}, 5]}),
        ("outputs[0].top[0]", {"outputs": [{"top": ["d0"]}, {}]}),
        ("documents.d0", {"documents": {"d0": "text"}}),
        ("documents.d0.text", {"documents": {"d0": {"title": "t"}}}),
        ("probes.examples", {"probes": {"examples": []}}),
        ("probes.hash", {"probes": {"hash": "another", "examples": []}}),
        ("probes", {"probes": None}),
        ("summary", {"summary": []}),
    ]


@pytest.mark.parametrize(("field", "changes"), broken_snapshots())
def test_a_broken_snapshot_is_refused_naming_the_field(
    store: Store, ingest: Ingest, field: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ingest.accept_snapshot("run-1", snapshot_file(0, **changes))
    assert caught.value.field == field
    with store.read() as session:
        assert snapshots.dataset_runs(session) == []


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"not gzip",
        snapshot_file(0)[:-9],
        snapshot_file(0) + b"x",
        gzip.compress(b"{", mtime=0),
        gzip.compress(b"[]", mtime=0),
    ],
)
def test_what_is_no_snapshot_file_is_refused(ingest: Ingest, payload: bytes) -> None:
    with pytest.raises(InvalidRequest, match="snapshot"):
        ingest.accept_snapshot("run-1", payload)


def test_a_decompression_bomb_is_refused(ingest: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_snapshots, "MAX_UNPACKED_BYTES", 1_000_000)
    with pytest.raises(TooLarge):
        ingest.accept_snapshot("run-1", gzip.compress(bytes(10_000_000)))
