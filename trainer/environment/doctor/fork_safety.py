"""What happens to a process forked after torch has started its threads.

The child has the parent's memory, locks included, but not its threads: with
GNU OpenMP it waits for ever, without output and without using the CPU.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import time
from typing import Any, Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Forking after threads"
CHILD_LIMIT_S: Final = 3.0
ALARM_S: Final = 10  # ends the child, should its parent be killed
NUM_VALUES: Final = 2_000_000  # enough for torch to share the work among its threads


def look(surroundings: Surroundings) -> list[Check]:
    """Try it on Linux; elsewhere Python does not fork by default, and a try could abort."""
    method = multiprocessing.get_start_method(allow_none=False)
    if surroundings.platform != "linux":
        found = f"Python starts processes by {method} on this system: nothing is forked."
        return [Check("fork_safety", TITLE, Verdict.OK, found, "", {"start_method": method})]
    torch = importlib.import_module("torch")
    _compute(torch)
    ended = _child_ends(torch)
    return [judge(ended=ended, start_method=method, num_threads=torch.get_num_threads())]


def judge(*, ended: bool, start_method: str, num_threads: int) -> Check:
    """Judge whether the forked child's computation ``ended``."""
    details = {"child_ended": ended, "start_method": start_method, "threads": num_threads}
    if ended:
        found = f"A process forked after torch has used {num_threads} threads can still compute."
        return Check("fork_safety", TITLE, Verdict.OK, found, "", details)
    found = (
        f"A process forked after torch has used {num_threads} threads hangs on this machine: "
        f"it had not computed a single sum after {CHILD_LIMIT_S:g} s. "
        "Signalbox never forks one: trainers and their helpers are fresh interpreters."
    )
    remedy = (
        "In code of your own: num_proc=None in datasets.map, no os.fork, "
        "and multiprocessing.get_context('spawn')"
        + (f" (the default here is {start_method})." if start_method == "fork" else ".")
    )
    return Check("fork_safety", TITLE, Verdict.NOTE, found, remedy, details)


def _compute(torch: Any) -> None:
    (torch.ones(NUM_VALUES) * 2).sum().item()


def _child_ends(torch: Any) -> bool:
    child = os.fork()
    if child == 0:
        signal.alarm(ALARM_S)
        _compute(torch)
        os._exit(0)
    deadline = time.monotonic() + CHILD_LIMIT_S
    while time.monotonic() < deadline:
        pid, _ = os.waitpid(child, os.WNOHANG)
        if pid:
            return True
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False
