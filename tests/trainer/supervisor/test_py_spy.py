"""Stacks from outside, for a trainer that does not answer; without py-spy the reason is said in words."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.supervisor.supervised import (
    events,
    finish,
    new_run,
    start,
    states,
    wait_until,
)
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.hangs import Hang
from trainer.supervisor.py_spy import PySpyRequest, as_faulthandler, find_py_spy
from trainer.supervisor.stacks import place, threads

QUICK = {"stall_after_s": 1, "max_attempts": 1}
NEEDS_PY_SPY = pytest.mark.skipif(
    find_py_spy() is None,
    reason="py-spy, which is optional, is not on the PATH (pip install py-spy)",
)


def frame(name: str, file: str, line: int) -> dict[str, object]:
    return {"name": name, "filename": file, "line": line}


FORKED = [
    {
        "pid": 7,
        "thread_id": 140655970417536,
        "thread_name": "MainThread",
        "os_thread_id": 7,
        "frames": [
            frame("0x7fed03e1e073", "/v/site-packages/torch/lib/libgomp.so.1", 0),
            frame("at::native::sin_kernel", "/v/site-packages/torch/lib/libtorch_cpu.so", 0),
            frame("sin", "/home/ada/recipe/model.py", 9),
            frame("<module>", "/home/ada/recipe/train.py", 12),
        ],
    },
    {
        "pid": 7,
        "thread_id": 8,
        "thread_name": "beat",
        "os_thread_id": 8,
        "frames": [frame("wait", "t.py", 1)],
    },
]


def test_its_answer_reads_like_faulthandlers_with_the_main_thread_last() -> None:
    stacks = threads(as_faulthandler(json.dumps(FORKED)))
    assert [len(frames) for frames in stacks] == [1, 4]
    found = place(stacks, Hang.DEADLOCKED)
    assert found is not None
    assert (found.kind, found.frame.function, found.caller.function) == ("OpenMP", "sin", "sin")


@pytest.mark.parametrize("said", ["", "{}", "[1]", '[{"pid": 1}]', "Error: no python"])
def test_what_is_no_answer_is_empty(said: str) -> None:
    assert as_faulthandler(said) == ""


def py_spy_that(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program of this name on the PATH, before everything else."""
    program = folder / "py-spy"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "echo 'Permission Denied: Try running again with elevated permissions'; exit 1",
            "not permit ptrace",
        ),
        ("echo 'Error: Failed to find python version'; exit 1", "Failed to find python version"),
        ("exit 3", "it said nothing"),
        ("echo rubbish", "could not look into it: rubbish"),
    ],
)
def test_why_there_is_no_stack_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    py_spy_that(tmp_path, monkeypatch, script)
    request = PySpyRequest(os.getpid())
    _wait_for(request)
    assert request.text == ""
    assert words in request.trouble


def test_a_py_spy_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    py_spy_that(tmp_path, monkeypatch, "exec sleep 600")
    monkeypatch.setattr("trainer.supervisor.py_spy._WAIT_S", 0.1)
    request = PySpyRequest(os.getpid())
    _wait_for(request)
    assert "no answer" in request.trouble


@pytest.mark.process
def test_without_py_spy_the_run_says_why_its_place_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    py_spy_that(tmp_path, monkeypatch, "echo 'Operation not permitted (os error 1)'; exit 1")
    paths = new_run(tmp_path, grace_s=0.5, policy=QUICK)
    supervisor = start(paths, "does_not_answer")
    wait_until(lambda: "ptrace" in _last_reason(paths))
    assert states(paths)[-1] == "stalled"
    supervisor.send_signal(signal.SIGTERM)
    finish(supervisor, paths)


@pytest.mark.process
@NEEDS_PY_SPY
def test_a_trainer_that_does_not_answer_is_looked_into_from_outside(tmp_path: Path) -> None:
    paths = new_run(tmp_path, grace_s=0.5, policy=QUICK)
    supervisor = start(paths, "does_not_answer")
    wait_until(lambda: _told(paths, "stacks"))
    stacks = _told(paths, "stacks")[0]
    assert (stacks["by"], stacks["verdict"], stacks["code"]) == ("py-spy", "deadlocked", "lock")
    assert stacks["frame"].startswith("locks_twice_holding_the_interpreter")
    if sys.platform == "linux":
        assert "pthread_mutex_lock" in stacks["text"]
    supervisor.send_signal(signal.SIGTERM)
    finish(supervisor, paths)


def _wait_for(request: PySpyRequest) -> None:
    def is_over() -> bool:
        request.look()
        return request.is_over

    wait_until(is_over)


def _told(paths: RunPaths, kind: str) -> list[dict[str, Any]]:
    return [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == kind]


def _last_reason(paths: RunPaths) -> str:
    told = _told(paths, "state")
    return str(told[-1]["reason"]) if told else ""
