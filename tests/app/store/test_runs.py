"""Runs: states move by conditional update, deletion takes everything along."""

from __future__ import annotations

from functools import partial

import pytest
from sqlalchemy import func, select

from app.domain.run_states import RunState
from app.errors import Conflict, InvalidTransition, NotFound
from app.store import runs
from app.store.engine import Store
from app.store.models import Base
from tests.app.rows import new_run


def test_a_run_moves_along_the_table_and_keeps_its_times(store: Store) -> None:
    store.write(lambda s: runs.insert_run(s, new_run()))
    started = store.write(lambda s: runs.transition(s, "run-1", new=RunState.STARTING, attempt=1))
    assert (started.state, started.attempt) == ("starting", 1)
    assert started.started_at is not None
    ended = store.write(lambda s: runs.transition(s, "run-1", new=RunState.FAILED, reason="it broke"))
    assert (ended.state, ended.reason, ended.started_at) == ("failed", "it broke", started.started_at)
    assert ended.ended_at is not None
    again = store.write(lambda s: runs.transition(s, "run-1", new=RunState.QUEUED))
    assert (again.ended_at, again.reason) == (None, None)


def test_a_move_that_is_not_in_the_table_is_refused_with_what_is(store: Store) -> None:
    store.write(lambda s: runs.insert_run(s, new_run()))
    with pytest.raises(InvalidTransition) as caught:
        store.write(lambda s: runs.transition(s, "run-1", new=RunState.FINISHED))
    assert "queued" in caught.value.message
    assert "starting" in (caught.value.hint or "")


def test_of_two_racing_callers_one_wins(store: Store) -> None:
    store.write(lambda s: runs.insert_run(s, new_run()))
    old = frozenset({RunState.QUEUED})
    store.write(lambda s: runs.transition(s, "run-1", new=RunState.STARTING, old=old))
    with pytest.raises(InvalidTransition):
        store.write(lambda s: runs.transition(s, "run-1", new=RunState.STARTING, old=old))


def test_an_unknown_run_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound), store.read() as session:
        runs.get_run(session, "nobody")
    with pytest.raises(NotFound):
        store.write(lambda s: runs.transition(s, "nobody", new=RunState.STARTING))


def test_touch_refuses_to_write_a_state(store: Store) -> None:
    with pytest.raises(ValueError, match="transition"):
        store.write(lambda s: runs.touch(s, "run-1", state="finished"))


def test_the_queue_goes_by_priority_then_by_waiting_time(store: Store) -> None:
    store.write(lambda s: runs.insert_run(s, new_run("late", queued_at=3.0)))
    store.write(lambda s: runs.insert_run(s, new_run("early", queued_at=2.0)))
    with store.read() as session:
        assert (first := runs.next_queued(session)) is not None
        assert first.id == "early"
    store.write(lambda s: runs.insert_run(s, new_run("urgent", queued_at=9.0, priority=5)))
    with store.read() as session:
        assert (first := runs.next_queued(session)) is not None
        assert first.id == "urgent"


def test_runs_are_listed_newest_first_and_found_by_text(store: Store) -> None:
    for index in range(5):
        run = new_run(f"r{index}", created_at=float(index), name=f"name 100%_{index}", tags=["Ärger"])
        store.write(partial(runs.insert_run, run=run))
    with store.read() as session:
        page, total = runs.list_runs(session, limit=2, offset=1)
        assert ([run.id for run in page], total) == (["r3", "r2"], 5)
        assert [run.id for run in runs.list_runs(session, q="100%_3")[0]] == ["r3"]
        assert runs.list_runs(session, q="%")[1] == 5
        assert runs.list_runs(session, q="Ärger")[1] == 5
        assert runs.list_runs(session, q="r_")[1] == 0
        assert runs.list_runs(session, states=[RunState.RUNNING])[1] == 0


def test_an_active_run_cannot_be_deleted(store: Store) -> None:
    store.write(lambda s: runs.insert_run(s, new_run()))
    store.write(lambda s: runs.transition(s, "run-1", new=RunState.STARTING))
    with pytest.raises(Conflict):
        store.write(lambda s: runs.delete(s, "run-1"))


def test_deleting_leaves_no_row_of_the_run_behind(store: Store) -> None:
    store.write(lambda s: runs.insert_run(s, new_run()))
    store.write(lambda s: runs.delete(s, "run-1"))
    with store.read() as session:
        for table in Base.metadata.sorted_tables:
            assert session.scalar(select(func.count()).select_from(table)) == 0, table.name
