"""Asking beside the server: a process per run, few at a time, gone with the server."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator

import psutil
import pytest

from app.errors import (
    Conflict,
    InvalidRequest,
    ModelFailed,
    NotFound,
    SignalboxError,
    TooManyRequests,
    Unavailable,
)
from app.services.asking import MOST_WAITING, Asking, ask_command
from tests.app.services.run_rig import Rig
from tests.waiting import wait_for

pytestmark = pytest.mark.process
Open = Callable[[str], Asking]
QUESTION = {"query": "x"}


@pytest.fixture
def open_asking(rig: Rig) -> Iterator[Open]:
    opened: list[Asking] = []

    def begin(how: str, *, most_runs: int = 2) -> Asking:
        command = [sys.executable, "-m", "tests.children.desk_that", how]
        asking = Asking(rig.runs, command=lambda paths: command, most_runs=most_runs)
        asking.start()
        opened.append(asking)
        return asking

    yield begin
    for asking in opened:
        asking.close()


def trained_run(rig: Rig, *, steps: tuple[int, ...] = (5,)) -> str:
    """A run of the database whose folder has checkpoints."""
    run, _ = rig.runs.create("two_tower", "python_docs", {})
    folder = rig.paths(run.id)
    folder.checkpoints.mkdir(parents=True)
    folder.spec.write_text("{}")
    for step in steps:
        manifest = {"step": step, "epoch": 0, "best": step == steps[0], "created_at": 1.0}
        (folder.checkpoints / f"step_{step:06d}.json").write_text(json.dumps(manifest))
    return run.id


def desks() -> list[psutil.Process]:
    """Living desks; other tests of this process may have left a helper of multiprocessing behind."""
    children = psutil.Process().children()
    alive = [one for one in children if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    return [one for one in alive if "tests.children.desk_that" in one.cmdline()]


def test_one_process_answers_all_questions_of_a_run(rig: Rig, open_asking: Open) -> None:
    asking, run_id = open_asking("answers"), trained_run(rig)
    assert asking.status(run_id)["state"] == "asleep"
    assert asking.ask(run_id, QUESTION)["answer"]["label"] == "a"
    pids = [one.pid for one in desks()]
    asking.ask(run_id, {"query": "y", "count": 3}, checkpoint="last")
    assert [one.pid for one in desks()] == pids
    status = asking.status(run_id)
    assert (status["state"], status["checkpoint"]["step"]) == ("ready", 5)
    asking.forget(run_id)
    assert desks() == []
    assert asking.status(run_id)["state"] == "asleep"


def test_what_can_be_asked_is_listed(rig: Rig, open_asking: Open) -> None:
    asking, run_id = open_asking("answers"), trained_run(rig, steps=(5, 10))
    status = asking.status(run_id)
    assert (status["why_not"], status["question"][0]["name"]) == (None, "query")
    assert [(one["step"], one["best"], one["last"]) for one in status["checkpoints"]] == [
        (5, True, False),
        (10, False, True),
    ]


def test_a_wrong_question_starts_nothing(rig: Rig, open_asking: Open) -> None:
    asking, run_id = open_asking("answers"), trained_run(rig)
    with pytest.raises(InvalidRequest) as caught:
        asking.ask(run_id, {"query": "x", "count": 0})
    assert caught.value.field == "question.count"
    assert desks() == []


def test_who_cannot_be_asked_is_told_why(rig: Rig, open_asking: Open) -> None:
    asking = open_asking("answers")
    with pytest.raises(NotFound):
        asking.ask("nobody", QUESTION)
    run, _ = rig.runs.create("two_tower", "python_docs", {})
    assert "not on this machine" in asking.status(run.id)["why_not"]
    without = trained_run(rig, steps=())
    with pytest.raises(Conflict, match="no checkpoint yet"):
        asking.ask(without, QUESTION)


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("question", InvalidRequest),
        ("checkpoint", Conflict),
        ("opening", Conflict),
        ("limit", Unavailable),
        ("died", ModelFailed),
        ("broken", ModelFailed),
    ],
)
def test_each_trouble_has_its_status(
    rig: Rig, open_asking: Open, how: str, error: type[SignalboxError]
) -> None:
    asking, run_id = open_asking(how), trained_run(rig)
    with pytest.raises(error, match=r"^m\.$") as caught:
        asking.ask(run_id, QUESTION)
    assert caught.value.hint == "h"
    if error is ModelFailed:
        told = caught.value.to_json()["error"]
        assert (told["code"], told["findings"][0]["id"], told["lines"]) == ("model_failed", "cuda_oom", ["l"])


def test_a_desk_that_leaves_is_told_and_the_next_question_starts_another(rig: Rig, open_asking: Open) -> None:
    asking, run_id = open_asking("leaves"), trained_run(rig)
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"ended before it had\. it cannot be"):
            asking.ask(run_id, QUESTION)


def test_progress_is_seen_and_closing_answers_who_waits(rig: Rig, open_asking: Open) -> None:
    asking, run_id = open_asking("waits"), trained_run(rig)
    told: list[SignalboxError] = []

    def ask() -> None:
        try:
            asking.ask(run_id, QUESTION)
        except SignalboxError as exc:
            told.append(exc)

    threads = [threading.Thread(target=ask) for _ in range(1 + MOST_WAITING)]
    for thread in threads:
        thread.start()

    def is_reading() -> bool:
        doing = asking.status(run_id)["doing"]
        return doing is not None and doing["detail"] == "reading the weights"

    wait_for(is_reading, what="progress")
    wait_for(lambda: asking._talks[run_id].num_inside == 1 + MOST_WAITING, what="all to wait")
    with pytest.raises(TooManyRequests):
        asking.ask(run_id, QUESTION)
    asking.close()
    for thread in threads:
        thread.join(30)
    assert [type(one) for one in told] == [Unavailable] * len(threads)
    assert desks() == []
    with pytest.raises(Conflict):
        asking.ask(run_id, QUESTION)


def test_the_model_asked_longest_ago_goes_for_another_run(rig: Rig, open_asking: Open) -> None:
    asking = open_asking("answers")
    runs = [trained_run(rig) for _ in range(3)]
    for run_id in runs:
        asking.ask(run_id, QUESTION)
    wait_for(lambda: len(desks()) == 2, what="one of three to go")
    assert [asking.status(run_id)["state"] for run_id in runs] == ["asleep", "ready", "ready"]


def test_the_real_command_is_the_one_of_the_training_side(rig: Rig) -> None:
    paths = rig.paths("abc")
    assert ask_command(paths)[2:] == ["-m", "trainer", "ask", str(paths.root), "-"]
