"""What people may do to runs."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.errors import Conflict, InvalidRequest, InvalidTransition, NotFound, Unavailable
from app.services.run_ids import is_run_id
from app.services.runs import KILL_SIGNAL
from app.store import runs as run_rows
from app.store.models import Run
from tests.app.services.run_rig import Rig, write_pairs
from trainer.protocol.events import Command


def create(rig: Rig, **overrides: Any) -> Run:
    arguments: dict[str, Any] = {"recipe": "two_tower", "dataset": "python_docs", "params": {}, **overrides}
    recipe, dataset, params = (arguments.pop(name) for name in ("recipe", "dataset", "params"))
    run, _ = rig.runs.create(recipe, dataset, params, **arguments)
    return run


def move(rig: Rig, run: Run, *states: RunState, **values: Any) -> None:
    for state in states:
        changes = values if state is states[-1] else {}
        rig.store.write(partial(_move_one, run_id=run.id, new=state, changes=changes))


def _move_one(session: Session, *, run_id: str, new: RunState, changes: dict[str, Any]) -> None:
    run_rows.transition(session, run_id, new=new, **changes)


def state_of(rig: Rig, run: Run) -> str:
    return rig.runs.get(run.id).state


def test_a_new_run_is_queued_with_complete_parameters_and_a_telling_name(rig: Rig) -> None:
    run = create(rig, params={"batch_size": 64})
    assert run.state == "queued"
    assert is_run_id(run.id)
    assert run.params["batch_size"] == 64
    assert "num_epochs" in run.params
    assert run.name == "two_tower on python_docs #1"
    assert create(rig).name == "two_tower on python_docs #2"
    assert rig.live.changed[0] == run.id


def test_a_default_name_is_not_given_twice_after_a_deletion(rig: Rig) -> None:
    first, second = create(rig), create(rig)
    rig.runs.stop(first.id)
    rig.runs.delete(first.id)
    assert create(rig).name not in {second.name}


@pytest.mark.parametrize(
    ("overrides", "field"),
    [
        ({"recipe": "no_such"}, "recipe"),
        ({"dataset": "no_such"}, "dataset"),
        ({"dataset": "/etc/passwd"}, "dataset"),
        ({"dataset": "../../etc/passwd"}, "dataset"),
        ({"dataset": "a\x00b"}, "dataset"),
        ({"profile": "fast"}, "profile"),
        ({"params": {"batch_size": 0}}, "params.batch_size"),
        ({"params": {"batch_size": 10**400}}, "params.batch_size"),
        ({"params": {"batch_size": "64x"}}, "params.batch_size"),
        ({"params": {"no_such": 1}}, "params.no_such"),
    ],
)
def test_a_wrong_value_names_its_field_and_stores_nothing(
    rig: Rig, overrides: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        create(rig, **overrides)
    assert caught.value.field == field
    assert rig.runs.list() == ([], 0)


def test_a_file_in_the_inbox_may_be_named_or_given_by_path(rig: Rig) -> None:
    path = write_pairs(rig.settings.dataset_roots[1] / "pairs.jsonl")
    by_name, by_path = create(rig, dataset="pairs.jsonl"), create(rig, dataset=str(path))
    assert by_name.dataset == by_path.dataset == str(path.resolve())
    assert by_name.name == "two_tower on pairs #1"


def test_fifty_parallel_requests_with_one_key_make_one_run(rig: Rig) -> None:
    def request(_: int) -> tuple[str, bool]:
        run, created = rig.runs.create("two_tower", "python_docs", {}, idempotency_key="click-1")
        return run.id, created

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(request, range(50)))
    assert len({run_id for run_id, _ in answers}) == 1
    assert [created for _, created in answers].count(True) == 1
    assert rig.runs.list()[1] == 1


def test_a_key_cannot_be_used_for_another_run(rig: Rig) -> None:
    create(rig, idempotency_key="k")
    with pytest.raises(Conflict, match="Idempotency-Key"):
        create(rig, idempotency_key="k", params={"batch_size": 32})


def test_stopping_a_queued_run_ends_it_at_once_and_twice_is_harmless(rig: Rig) -> None:
    run = create(rig)
    assert rig.runs.stop(run.id).state == "stopped"
    again = rig.runs.stop(run.id)
    assert again.state == "stopped"
    assert again.stop_requested
    assert again.ended_at is not None


def test_stopping_an_active_run_sends_the_order_over_its_link(rig: Rig) -> None:
    run = create(rig)
    move(rig, run, RunState.STARTING, RunState.RUNNING)
    rig.linked.add(run.id)
    assert rig.runs.stop(run.id).state == "stopping"
    assert rig.runs.stop(run.id).state == "stopping"
    assert rig.sent == [(run.id, Command.STOP)] * 2


def test_without_a_link_the_supervisor_gets_a_signal(rig: Rig) -> None:
    run = create(rig)
    move(rig, run, RunState.STARTING, RunState.RUNNING)
    rig.launcher.alive[run.id] = 1234
    rig.runs.stop(run.id)
    rig.runs.kill(run.id)
    assert rig.launcher.signalled == [(run.id, signal.SIGTERM), (run.id, KILL_SIGNAL)]


def test_a_live_run_takes_orders_by_file_when_the_link_is_down(rig: Rig) -> None:
    run = create(rig)
    move(rig, run, RunState.STARTING, RunState.RUNNING)
    with pytest.raises(Unavailable):
        rig.runs.command(run.id, Command.CHECKPOINT)
    rig.launcher.alive[run.id] = 1234
    rig.paths(run.id).root.mkdir(parents=True)
    rig.runs.command(run.id, Command.CHECKPOINT)
    assert [order.name for order in rig.paths(run.id).control.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize("command", [Command.CHECKPOINT, Command.SNAPSHOT, Command.PAUSE])
def test_a_run_that_is_not_live_takes_no_orders(rig: Rig, command: Command) -> None:
    with pytest.raises(Conflict):
        rig.runs.command(create(rig).id, command)


def test_resuming_a_paused_run_is_an_order_and_no_new_attempt(rig: Rig) -> None:
    run = create(rig)
    move(rig, run, RunState.STARTING, RunState.RUNNING)
    rig.store.write(lambda session: run_rows.touch(session, run.id, phase="paused"))
    rig.linked.add(run.id)
    assert rig.runs.resume(run.id).state == "running"
    assert rig.sent == [(run.id, Command.RESUME)]


@pytest.mark.parametrize("end", [RunState.STOPPED, RunState.FAILED, RunState.LOST])
def test_a_run_that_has_ended_is_queued_again_with_a_clean_slate(rig: Rig, end: RunState) -> None:
    run = create(rig)
    move(rig, run, RunState.STARTING, end, exit_code=1, reason="because")
    again = rig.runs.retry(run.id)
    assert (again.state, again.exit_code, again.reason, again.ended_at) == ("queued", None, None, None)


def test_a_run_whose_supervisor_still_lives_is_neither_resumed_nor_deleted(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.runs.WIND_UP_S", 0.0)
    run = create(rig)
    move(rig, run, RunState.STARTING, RunState.LOST)
    rig.launcher.alive[run.id] = 1234
    with pytest.raises(Conflict, match="1234"):
        rig.runs.resume(run.id)
    with pytest.raises(Conflict, match="1234"):
        rig.runs.delete(run.id)
    assert state_of(rig, run) == "lost"


def test_a_finished_run_is_cloned_not_resumed(rig: Rig) -> None:
    run = create(rig, params={"seed": 7}, tags=["a"], priority=3)
    move(rig, run, RunState.STARTING, RunState.FINISHED)
    with pytest.raises(Conflict) as caught:
        rig.runs.resume(run.id)
    assert "Clone" in str(caught.value.hint)
    twin, _ = rig.runs.clone(run.id)
    assert twin.id != run.id
    assert (twin.params, twin.tags, twin.priority) == (run.params, run.tags, run.priority)


def test_name_tags_and_priority_change_and_nothing_else_does(rig: Rig) -> None:
    run = create(rig, tags=["old"])
    changed = rig.runs.update(run.id, name="βeta 🚂", priority=5)
    assert (changed.name, changed.tags, changed.priority) == ("βeta 🚂", ["old"], 5)
    assert rig.runs.update(run.id, tags=[]).tags == []
    assert rig.runs.get(run.id).params == run.params


def test_only_ended_runs_are_deleted_and_the_folder_goes_to_the_trash(rig: Rig) -> None:
    run = create(rig)
    with pytest.raises(Conflict):
        rig.runs.delete(run.id)
    rig.runs.stop(run.id)
    folder = rig.paths(run.id).root
    folder.mkdir(parents=True)
    rig.runs.delete(run.id)
    assert not folder.exists()
    assert [path.name.startswith(run.id) for path in (rig.settings.instance / "trash").iterdir()] == [True]
    assert rig.live.gone == [run.id]
    with pytest.raises(NotFound):
        rig.runs.get(run.id)


def test_purging_leaves_nothing(rig: Rig) -> None:
    run = create(rig)
    rig.runs.stop(run.id)
    rig.paths(run.id).root.mkdir(parents=True)
    rig.runs.delete(run.id, purge=True)
    assert not rig.paths(run.id).root.exists()
    assert not (rig.settings.instance / "trash").exists()


def test_the_preview_shows_command_environment_and_complete_parameters(rig: Rig) -> None:
    shown = rig.runs.preview("two_tower", "python_docs", {"batch_size": 64})
    assert "trainer.engine" in shown["command"]
    assert shown["params"]["batch_size"] == 64
    reasons = {one["name"]: one["reason"] for one in shown["environment"]}
    assert reasons["OMP_NUM_THREADS"]
    assert rig.runs.list() == ([], 0)


def test_orders_to_a_run_that_does_not_exist_say_so(rig: Rig) -> None:
    for order in (rig.runs.stop, rig.runs.kill, rig.runs.resume, rig.runs.clone, rig.runs.delete):
        with pytest.raises(NotFound):
            order("nope")


def test_of_two_racing_moves_one_loses(rig: Rig) -> None:
    run = create(rig)
    move(rig, run, RunState.STARTING, RunState.FAILED)
    rig.runs.resume(run.id)
    with pytest.raises(InvalidTransition):
        move(rig, run, RunState.FINISHED)
