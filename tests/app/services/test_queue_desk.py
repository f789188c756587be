"""The order of the queue is what people made it, whoever else clicks at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import permutations

import pytest
from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.errors import Conflict, InvalidRequest
from app.services.ingest import Ingest
from app.services.queue_desk import QueueDesk
from app.store import runs as run_rows
from tests.app.rows import Heard, metrics_batch
from tests.app.services.run_rig import Rig, write_pairs


@pytest.fixture
def desk(rig: Rig) -> QueueDesk:
    return QueueDesk(rig.store, settings=rig.settings, live=rig.live, runs=rig.runs, wake_queue=lambda: None)


def new_run(rig: Rig, *, priority: int = 0, **more: object) -> str:
    return rig.runs.create("two_tower", "python_docs", {}, priority=priority, **more)[0].id  # type: ignore[arg-type]


def waiting(desk: QueueDesk) -> list[str]:
    return [one["run"]["id"] for one in desk.view()["waiting"]]


def move(rig: Rig, run_id: str, *states: RunState, **values: object) -> None:
    for state in states:
        rig.store.write(partial(_move, run_id=run_id, new=state, values=values))


def _move(session: Session, *, run_id: str, new: RunState, values: dict[str, object]) -> None:
    run_rows.transition(session, run_id, new=new)
    run_rows.touch(session, run_id, **values)


def test_runs_start_in_the_order_they_were_given(rig: Rig, desk: QueueDesk) -> None:
    first, second, third = (new_run(rig) for _ in range(3))
    desk.arrange([third, first])
    assert waiting(desk) == [third, first, second]  # what is not named follows
    later = new_run(rig)
    assert waiting(desk) == [third, first, second, later]
    rig.queue.launch_next()
    assert rig.launcher.launched == [third]


def test_a_priority_is_stronger_than_a_place(rig: Rig, desk: QueueDesk) -> None:
    low, normal, high = (new_run(rig, priority=number) for number in (-10, 0, 10))
    desk.arrange([low, normal, high])
    assert waiting(desk) == [high, normal, low]
    assert [one["priority"] for one in desk.view()["waiting"]] == ["high", "normal", "low"]


def test_a_run_of_a_new_priority_has_no_place_from_before(rig: Rig, desk: QueueDesk) -> None:
    first, second = new_run(rig, priority=10), new_run(rig)
    desk.arrange([second])
    rig.runs.update(second, priority=10)
    assert waiting(desk) == [first, second]


def test_a_run_that_is_queued_again_has_no_place_from_before(rig: Rig, desk: QueueDesk) -> None:
    first, second = new_run(rig), new_run(rig)
    desk.arrange([second, first])
    rig.runs.stop(second)
    rig.runs.resume(second)
    assert waiting(desk) == [first, second]


def test_ids_that_are_no_longer_queued_are_named_and_nothing_changes(rig: Rig, desk: QueueDesk) -> None:
    first, second, third = (new_run(rig) for _ in range(3))
    rig.runs.stop(second)
    with pytest.raises(Conflict, match=second):
        desk.arrange([third, second, first])
    assert waiting(desk) == [first, third]
    with pytest.raises(InvalidRequest, match="twice"):
        desk.arrange([first, first])


def test_of_racing_orders_one_wins_whole(rig: Rig, desk: QueueDesk) -> None:
    ids = [new_run(rig) for _ in range(3)]
    orders = [list(order) for order in permutations(ids)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(desk.arrange, orders))
    assert waiting(desk) in orders


def test_skipping_stops_one_run_and_says_which_is_next(rig: Rig, desk: QueueDesk) -> None:
    present, following = new_run(rig), new_run(rig)
    with pytest.raises(Conflict, match="No runs are active"):
        desk.skip(None)
    rig.queue.launch_next()
    told = desk.skip(None)
    assert (told["stopping"]["id"], told["stopping"]["state"], told["next"]["id"]) == (
        present, "stopping", following,
    )  # fmt: skip
    assert desk.skip(present)["stopping"]["id"] == present  # a second click changes nothing
    move(rig, present, RunState.STOPPED)
    rig.queue.launch_next()
    with pytest.raises(Conflict, match="is stopped"):
        desk.skip(present)  # and can never hit the run that came after
    with pytest.raises(Conflict, match="Nothing waits"):
        desk.skip(following)


def test_estimates_rest_on_the_pace_or_on_past_runs_or_are_unknown(rig: Rig, desk: QueueDesk) -> None:
    past, present, same, other = (
        new_run(rig), new_run(rig), new_run(rig), new_run(rig)
    )  # fmt: skip
    rig.runs.stop(other)
    unlike = rig.runs.create("two_tower", "python_docs", {"num_epochs": 3})[0].id
    alike = rig.runs.create("two_tower", "python_docs", {"learning_rate": 0.5, "seed": 1})[0].id
    move(rig, past, RunState.STARTING, RunState.FINISHED, attempt=1, started_at=100.0, ended_at=220.0)
    move(rig, present, RunState.STARTING, RunState.RUNNING, attempt=1, total_steps=101, step=51)
    ingest = Ingest(rig.store, Heard())
    ingest.hello(present, attempt=1)
    ingest.accept(metrics_batch(1, [1.0] * 51, run=present))  # one step a second
    view = desk.view()
    (active,) = view["active"]
    assert active["seconds_left"] == pytest.approx(50.0)
    assert "pace" in active["basis"]
    found = {one["run"]["id"]: one for one in view["waiting"]}
    assert found[same]["duration_s"] == found[alike]["duration_s"] == 120.0
    assert found[same]["start_at"] == pytest.approx(view["time"] + 50.0)
    assert found[unlike]["duration_s"] is None
    assert "no finished run" in found[unlike]["basis"]
    assert found[alike]["start_at"] is None  # after a run whose end nobody knows


def test_files_of_comparable_size_scale_the_time(rig: Rig, desk: QueueDesk) -> None:
    small, large = (write_pairs(rig.settings.dataset_roots[0] / name) for name in ("a.jsonl", "b.jsonl"))
    large.write_text(small.read_text() * 2)
    past = rig.runs.create("two_tower", str(small), {})[0].id
    move(rig, past, RunState.STARTING, RunState.FINISHED, attempt=1, started_at=0.0, ended_at=30.0)
    rig.runs.create("two_tower", str(large), {})
    (one,) = desk.view()["waiting"]
    assert one["duration_s"] == 60.0
    large.write_text(small.read_text() * 50)
    assert desk.view()["waiting"][0]["duration_s"] is None


@pytest.mark.parametrize(
    ("state", "phase", "words"),
    [(RunState.STALLED, None, "stalled"), (RunState.RETRYING, None, "retrying"), (None, "paused", "paused")],
)
def test_what_does_not_advance_has_no_end(
    rig: Rig, desk: QueueDesk, state: RunState | None, phase: str | None, words: str
) -> None:
    run_id = new_run(rig)
    states = [RunState.STARTING, RunState.RUNNING] + ([state] if state else [])
    move(rig, run_id, *states, phase=phase)
    (one,) = desk.view()["active"]
    assert one["end_at"] is None
    assert words in one["basis"]
