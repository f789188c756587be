"""Processes that misbehave while they are asked: each is ended, told apart, and leaves nothing behind."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from trainer.asking.faults import AskingError, Fault
from trainer.asking.model_process import ModelProcess

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[3]
Start = Callable[[str], ModelProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[ModelProcess] = []

    def begin(how: str) -> ModelProcess:
        argv = [sys.executable, "-u", "-X", "faulthandler", "-m", "tests.children.answerer_that", how]
        process = ModelProcess(argv, environ=os.environ, cwd=ROOT, memory_bytes=200 * 2**20)
        started.append(process)
        process.ask({"do": "open"}, what="opening", limit_s=60, tell=silent)
        return process

    yield begin
    for process in started:
        process.end()


def silent(detail: str, fraction: float) -> None:
    """Nobody listens."""


def fault_of(process: ModelProcess, *, limit_s: float = 60) -> AskingError:
    with pytest.raises(AskingError) as caught:
        process.ask({"do": "answer"}, what="answering", limit_s=limit_s, tell=silent)
    return caught.value


def test_progress_is_passed_on_and_the_answer_comes(start: Start) -> None:
    process = start("behaves")
    told: list[tuple[str, float]] = []
    process.ask(
        {"do": "open"}, what="opening", limit_s=60, tell=lambda detail, share: told.append((detail, share))
    )
    assert told == [("reading the weights", 0.5)]
    word = process.ask({"do": "answer"}, what="answering", limit_s=60, tell=silent)
    assert word["answer"]["kind"] == "labels"


@pytest.mark.parametrize(
    ("how", "words", "finding"),
    [
        ("is_killed", "was killed by signal 9 while answering", None),
        ("crashes", "was killed by signal 11 while answering", None),
        ("runs_out_of_memory", "ended with exit status 1", "MemoryError"),
    ],
)
def test_a_death_is_told_with_its_diagnosis(start: Start, how: str, words: str, finding: str | None) -> None:
    process = start(how)
    fault = fault_of(process)
    assert fault.kind is Fault.DIED
    assert words in fault.message
    assert len(fault.findings) >= 1
    assert finding is None or any(finding in line for line in fault.lines)
    assert not process.is_alive


def test_one_that_hangs_is_ended_and_its_stack_is_shown(start: Start) -> None:
    process = start("hangs")
    fault = fault_of(process, limit_s=0.5)
    assert fault.kind is Fault.LIMIT
    assert "no answer within 0.5 s" in fault.message
    assert any("misbehave" in line for line in fault.lines), fault.lines
    assert not process.is_alive


def test_one_that_eats_memory_is_ended(start: Start) -> None:
    fault = fault_of(start("eats"))
    assert fault.kind is Fault.LIMIT
    assert "may hold 0.2 GiB" in fault.message


def test_an_answer_without_end_is_cut_off(start: Start) -> None:
    assert "over 4 MiB" in fault_of(start("says_too_much")).message


def test_what_it_has_started_ends_with_it(start: Start) -> None:
    process = start("leaves_a_child")
    told: list[int] = []
    with pytest.raises(AskingError):
        process.ask(
            {"do": "answer"}, what="answering", limit_s=1, tell=lambda detail, _: told.append(int(detail))
        )
    (child,) = told
    _, alive = psutil.wait_procs([psutil.Process(child)] if psutil.pid_exists(child) else [], timeout=10)
    assert alive == []
