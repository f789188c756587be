"""A person's word counts only where nobody knows better."""

from __future__ import annotations

import time
from functools import partial

import pytest
from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.errors import Conflict
from app.services.run_ending import EndingDesk
from app.store import runs as run_rows
from tests.app.services.run_rig import Rig
from trainer.protocol.run_folder import ExitRecord


def desk_of(rig: Rig) -> EndingDesk:
    return EndingDesk(
        rig.store,
        settings=rig.settings,
        launcher=rig.launcher,
        live=rig.live,
        is_launching=rig.queue.is_launching,
        wake_queue=lambda: None,
    )


def run_in(rig: Rig, *states: RunState) -> str:
    run_id = rig.runs.create("two_tower", "python_docs", {})[0].id
    for state in states:
        rig.store.write(partial(_move, run_id=run_id, new=state))
    return run_id


def _move(session: Session, *, run_id: str, new: RunState) -> None:
    run_rows.transition(session, run_id, new=new)


@pytest.mark.parametrize("state", [RunState.LOST, RunState.RUNNING, RunState.STOPPING])
def test_a_run_without_supervisor_ends_as_the_person_says(rig: Rig, state: RunState) -> None:
    run_id = run_in(rig, RunState.STARTING, state)
    run = desk_of(rig).mark_ended(run_id, state=RunState.STOPPED, reason="the machine was switched off")
    assert (run.state, run.stop_requested) == ("stopped", True)
    assert run.reason == "marked as ended by hand: the machine was switched off"
    assert rig.runs.retry(run_id).state == "queued"


def test_a_lost_run_keeps_the_time_at_which_it_was_last_known(rig: Rig) -> None:
    run_id = run_in(rig, RunState.STARTING, RunState.LOST)
    lost_at = rig.runs.get(run_id).ended_at
    run = desk_of(rig).mark_ended(run_id, state=RunState.FAILED, reason="")
    assert run.ended_at == lost_at is not None


def test_a_living_supervisor_is_named_with_the_remedy(rig: Rig) -> None:
    run_id = run_in(rig, RunState.STARTING, RunState.RUNNING)
    rig.launcher.alive[run_id] = 4711
    with pytest.raises(Conflict, match="4711") as caught:
        desk_of(rig).mark_ended(run_id, state=RunState.FAILED, reason="")
    assert "Kill" in (caught.value.hint or "")
    assert rig.runs.get(run_id).state == "running"


@pytest.mark.parametrize("states", [(), (RunState.STARTING, RunState.FINISHED)])
def test_what_waits_or_has_ended_is_not_marked(rig: Rig, states: tuple[RunState, ...]) -> None:
    run_id = run_in(rig, *states)
    with pytest.raises(Conflict, match="nothing to mark"):
        desk_of(rig).mark_ended(run_id, state=RunState.FAILED, reason="")


def test_an_exit_record_knows_better_than_a_person(rig: Rig) -> None:
    run_id = run_in(rig, RunState.STARTING, RunState.RUNNING)
    paths = rig.paths(run_id)
    paths.root.mkdir(parents=True)
    now = time.time()
    ExitRecord(run_id, 1, "finished", "finished at step 9", 0, None, False, 9, now, now + 1).save(paths)
    with pytest.raises(Conflict, match="record"):
        desk_of(rig).mark_ended(run_id, state=RunState.FAILED, reason="")
