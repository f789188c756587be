"""Whatever people, queue and supervisor do at the same time: some order of their deeds explains the outcome.

Threads give random orders to one run on a real store, while a supervisor
reports late, again and from old attempts.  A model of a few lines says what
each deed does alone; a history is right when the deeds can be put into one
order, agreeing with the clock, in which the model gives every answer that was
really given, and ends where the run really is.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from app.domain.run_states import ACTIVE, ENDED, RESUMABLE, TRANSITIONS, RunState
from app.errors import Conflict, NotFound, Unavailable
from app.services.ingest import Ingest
from app.services.queue_desk import QueueDesk
from app.store import runs as run_rows
from tests.app.rows import Heard, events_batch
from tests.app.services.run_rig import NotingLauncher, Rig, open_rig
from tests.app.services.test_run_ending import desk_of
from trainer.protocol.events import Command
from trainer.protocol.run_folder import RunPaths

Place = tuple[RunState | None, int]  # state, None once deleted, and attempt
STOPPABLE = ACTIVE - {RunState.STOPPING}
PEOPLE = ("stop", "kill", "pause", "resume", "retry", "clone", "delete", "mark", "launch", "priority")
REPORTED = ("starting", "running", "stalled", "stopping", "finished", "stopped", "failed", "retrying")
STARTS: dict[str, tuple[RunState, ...]] = {
    "queued": (),
    "starting": (RunState.STARTING,),
    "running": (RunState.STARTING, RunState.RUNNING),
    "stopping": (RunState.STARTING, RunState.RUNNING, RunState.STOPPING),
    "stopped": (RunState.STARTING, RunState.STOPPED),
    "finished": (RunState.STARTING, RunState.FINISHED),
    "lost": (RunState.STARTING, RunState.LOST),
}
RANDOM = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],  # threads are not repeatable, so nothing can be shrunk
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@dataclass(frozen=True)
class Deed:
    """What one thread did, between which moments, and what it was answered."""

    what: str
    attempt: int
    began: float
    ended: float
    answer: str


def model(place: Place, what: str, attempt: int) -> tuple[Place, str]:
    """What a deed does alone."""
    state, newest = place
    if state is None:
        return place, "ok" if what == "launch" else "NotFound"
    if what in REPORTED:
        return _reported(state, newest, RunState(what), attempt), "ok"
    if what == "launch":
        return ((RunState.STARTING, newest + 1) if state is RunState.QUEUED else place), "ok"
    if what in ("stop", "kill"):
        moved = RunState.STOPPED if state is RunState.QUEUED else RunState.STOPPING
        return ((moved, newest) if state in STOPPABLE | {RunState.QUEUED} else place), "ok"
    if what in ("resume", "retry"):
        if state is RunState.QUEUED:
            return place, "ok"
        return ((RunState.QUEUED, newest), "ok") if state in RESUMABLE else (place, "Conflict")
    if what == "delete":
        return ((None, newest), "ok") if state in ENDED else (place, "Conflict")
    if what == "mark":
        markable = state in ACTIVE | {RunState.LOST}
        return ((RunState.FAILED, newest), "ok") if markable else (place, "Conflict")
    if what == "pause":
        return place, "ok" if state in STOPPABLE else "Conflict"
    return place, "ok"  # clone, priority: the run itself stays where it is


def _reported(state: RunState, newest: int, told: RunState, attempt: int) -> Place:
    is_history = state is RunState.QUEUED or attempt < newest
    return (told, newest) if not is_history and told in TRANSITIONS[state] else (state, newest)


def explains(threads: list[list[Deed]], start: Place, end: Place) -> bool:
    """Whether some order of the deeds, each thread's own kept, gives all answers and the end."""
    seen: set[tuple[tuple[int, ...], Place]] = set()

    def search(done: tuple[int, ...], place: Place) -> bool:
        if (done, place) in seen:
            return False
        seen.add((done, place))
        following = [
            thread[index] for thread, index in zip(threads, done, strict=True) if index < len(thread)
        ]
        if not following:
            return place == end
        first_end = min(deed.ended for deed in following)
        for number, (thread, index) in enumerate(zip(threads, done, strict=True)):
            if index == len(thread) or thread[index].began > first_end:
                continue  # another deed was over before this one began
            after, answer = model(place, thread[index].what, thread[index].attempt)
            further = (*done[:number], index + 1, *done[number + 1 :])
            if answer == thread[index].answer and search(further, after):
                return True
        return False

    return search(tuple(0 for _ in threads), start)


class StartingLauncher(NotingLauncher):
    """Leaves the folder of a new attempt behind, as a supervisor does."""

    def launch(self, paths: RunPaths) -> int:
        number = len(list((paths.root / "attempts").glob("*"))) + 1
        paths.attempt(number).mkdir(parents=True)
        return super().launch(paths)


@dataclass
class Control:
    """The services that people, queue and supervisors use, around one run."""

    rig: Rig

    def __post_init__(self) -> None:
        self.rig.launcher = StartingLauncher()
        self.rig.__post_init__()
        rig = self.rig
        self.runs = rig.runs
        self.endings = desk_of(rig)
        self.ingest = Ingest(rig.store, Heard())
        self.desk = QueueDesk(
            rig.store, settings=rig.settings, live=rig.live, runs=self.runs, wake_queue=lambda: None
        )

    def new_run(self, states: tuple[RunState, ...]) -> str:
        """The run of one history, ahead of all others in the queue."""
        run_id = self.runs.create("two_tower", "python_docs", {}, priority=100)[0].id
        self.rig.linked.add(run_id)
        for state in states:
            self.rig.store.write(partial(_move, run_id=run_id, new=state))
        if states:
            self.rig.paths(run_id).attempt(1).mkdir(parents=True)
        return run_id

    def place(self, run_id: str) -> Place:
        try:
            run = self.runs.get(run_id)
        except NotFound:
            return None, 0
        return RunState(run.state), run.attempt

    def deeds(self, run_id: str) -> dict[str, Callable[[], Any]]:
        """What people and the queue may do."""
        runs = self.runs
        return {
            "stop": lambda: runs.stop(run_id),
            "kill": lambda: runs.kill(run_id),
            "pause": lambda: runs.command(run_id, Command.PAUSE),
            "resume": lambda: runs.resume(run_id),
            "retry": lambda: runs.retry(run_id),
            "clone": lambda: self._clone(run_id),
            "delete": lambda: runs.delete(run_id),
            "mark": lambda: self.endings.mark_ended(run_id, state=RunState.FAILED, reason=""),
            "launch": self.rig.queue.launch_next,
            "priority": lambda: runs.update(run_id, priority=99),
        }

    def _clone(self, run_id: str) -> None:
        twin, _ = self.runs.clone(run_id)
        self.runs.update(twin.id, priority=-100)  # never launched before the run itself
        self.runs.stop(twin.id)


def _move(session: Session, *, run_id: str, new: RunState) -> None:
    run_rows.transition(session, run_id, new=new)
    if new is RunState.STARTING:
        run_rows.touch(session, run_id, attempt=1)


def answer_of(work: Callable[[], Any]) -> str:
    """``ok``, or the declared error's name; anything else ends the test."""
    try:
        work()
    except NotFound:
        return "NotFound"
    except Conflict:
        return "Conflict"
    return "ok"


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Control]:
    rig = open_rig(tmp_path_factory.mktemp("races") / "instance", max_runs=10_000)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield Control(rig)
    sys.setswitchinterval(interval)
    rig.store.close()


def perform(
    control: Control, run_id: str, people: list[list[str]], reports: list[tuple[str, int]]
) -> list[list[Deed]]:
    """Let every list be done by a thread of its own, all at once."""
    gate = threading.Barrier(len(people) + 1)
    known = control.deeds(run_id)

    def person(wishes: list[str]) -> list[Deed]:
        gate.wait()
        return [timed(wish, 0, known[wish]) for wish in wishes]

    def supervisor() -> list[Deed]:
        gate.wait()
        done = []
        for seq, (word, attempt) in enumerate(reports, start=1):
            batch = events_batch(seq, {"type": "state", "state": word, "attempt": attempt}, run=run_id)
            done.append(timed(word, attempt, lambda: control.ingest.accept(batch)))  # noqa: B023 - called at once
            control_again = answer_of(lambda: control.ingest.accept(batch))  # noqa: B023 - repeated: changes nothing
            assert control_again in ("ok", "NotFound")
        return done

    with ThreadPoolExecutor(len(people) + 1) as pool:
        work = [pool.submit(person, wishes) for wishes in people] + [pool.submit(supervisor)]
        return [one.result(30) for one in work]


def timed(what: str, attempt: int, work: Callable[[], Any]) -> Deed:
    began = time.monotonic()
    answer = answer_of(work)
    return Deed(what, attempt, began, time.monotonic(), answer)


def test_every_history_can_be_explained(control: Control) -> None:
    wishes = st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=4)
    reports = st.lists(st.tuples(st.sampled_from(REPORTED), st.integers(1, 3)), max_size=4)

    @given(
        start=st.sampled_from(sorted(STARTS)), people=st.lists(wishes, min_size=2, max_size=3), told=reports
    )
    @RANDOM
    def play(start: str, people: list[list[str]], told: list[tuple[str, int]]) -> None:
        run_id = control.new_run(STARTS[start])
        before = control.place(run_id)
        threads = perform(control, run_id, people, told)
        after = control.place(run_id)
        end = after if after[0] is not None else (None, _attempt_when_deleted(threads, before))
        possible = [end] if end[0] is not None else [(None, number) for number in range(6)]
        assert any(explains(threads, before, one) for one in possible), f"{before} -> {after}: {threads}"

    play()


def _attempt_when_deleted(threads: list[list[Deed]], before: Place) -> int:
    return before[1] + sum(deed.what == "launch" for thread in threads for deed in thread)


@pytest.mark.parametrize(
    ("start", "wish", "answers", "end"),
    [
        ("queued", "launch", {"ok": 8}, RunState.STARTING),
        ("queued", "stop", {"ok": 8}, RunState.STOPPED),
        ("running", "stop", {"ok": 8}, RunState.STOPPING),
        ("running", "kill", {"ok": 8}, RunState.STOPPING),
        ("stopped", "retry", {"ok": 8}, RunState.QUEUED),
        ("lost", "mark", {"ok": 1, "Conflict": 7}, RunState.FAILED),
        ("finished", "resume", {"Conflict": 8}, RunState.FINISHED),
        ("finished", "delete", {"ok": 1, "NotFound": 7}, None),
    ],
)
def test_eight_clicks_at_once_have_one_effect(
    control: Control, start: str, wish: str, answers: dict[str, int], end: RunState | None
) -> None:
    run_id = control.new_run(STARTS[start])
    threads = perform(control, run_id, [[wish]] * 8, [])
    given_answers = [deed.answer for thread in threads for deed in thread]
    assert {word: given_answers.count(word) for word in set(given_answers)} == answers
    assert control.place(run_id)[0] is end
    assert control.rig.launcher.launched.count(run_id) == (1 if wish == "launch" else 0)


def test_a_run_that_is_about_to_be_started_is_not_marked_as_ended(tmp_path: Path) -> None:
    """Else its supervisor would train under a run that is said to have ended."""
    rig = open_rig(tmp_path / "instance")
    outcomes: list[str] = []

    class Slow(NotingLauncher):
        def launch(self, paths: RunPaths) -> int:
            outcomes.append(answer_of(lambda: endings.mark_ended(run_id, state=RunState.FAILED, reason="")))
            return super().launch(paths)

    rig.launcher = Slow()
    rig.__post_init__()
    runs, endings = rig.runs, desk_of(rig)
    run_id = runs.create("two_tower", "python_docs", {})[0].id
    rig.queue.launch_next()
    assert outcomes == ["Conflict"]
    assert runs.get(run_id).state == "starting"
    rig.store.close()


def test_the_model_itself_refuses_what_cannot_be(control: Control) -> None:
    """Two threads that both mark one lost run, and are both told that it was them: no order explains that."""
    deed = Deed("mark", 0, 0.0, 1.0, "ok")
    assert not explains([[deed], [deed]], (RunState.LOST, 1), (RunState.FAILED, 1))
    refused = Deed("mark", 0, 0.0, 1.0, "Conflict")
    assert explains([[deed], [refused]], (RunState.LOST, 1), (RunState.FAILED, 1))
    late = Deed("stop", 0, 2.0, 3.0, "ok")
    assert not explains([[deed], [late]], (RunState.RUNNING, 1), (RunState.STOPPING, 1))


def test_an_order_that_cannot_be_delivered_is_declared(control: Control) -> None:
    run_id = control.new_run(STARTS["running"])
    control.rig.linked.discard(run_id)
    with pytest.raises(Unavailable):
        control.runs.command(run_id, Command.PAUSE)
