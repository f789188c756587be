"""Trainers that hang: ``python -m tests.children.trainer_that_hangs HANG RUN_DIR --attempt N``.

The hangs are real.  Reports, controls and the answer to SIGUSR1 are those of
a real trainer.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from trainer.protocol.events import Phase
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter
from trainer.telemetry.stack_dumps import answer_with_stacks

Hang = Callable[[Reporter, Controls], None]
FOREVER_S = 600.0


def _train(reporter: Reporter, *, first: int = 1, last: int = 5, step_s: float = 0.02) -> None:
    reporter.phase(Phase.TRAINING, step=first - 1)
    for step in range(first, last + 1):
        time.sleep(step_s)
        reporter.metrics(step, {"train/loss": 1.0 / step})
        reporter.progress(step, total_steps=1000, epoch=0.5, num_epochs=1)


def _finish(reporter: Reporter, step: int) -> None:
    reporter.finished(step, reason="completed", metrics={"last": {}, "best": {}})


def locks_twice(reporter: Reporter, controls: Controls) -> None:
    """A deadlock that lets the other threads run."""
    _train(reporter)
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def locks_twice_holding_the_interpreter(reporter: Reporter, controls: Controls) -> None:
    """A deadlock in native code that keeps the interpreter lock: not even the heart beats."""
    _train(reporter)
    native, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(128)
    native.pthread_mutex_lock(mutex)
    native.pthread_mutex_lock(mutex)


def spins(reporter: Reporter, controls: Controls) -> None:
    """An endless loop."""
    _train(reporter)
    while True:
        pass


def computes_holding_the_interpreter(reporter: Reporter, controls: Controls) -> None:
    """A native loop in another thread that never gives the interpreter lock back."""
    _train(reporter)
    thread = threading.Thread(target=_match_forever)
    thread.start()
    thread.join()


def _match_forever() -> None:
    re.match("(a+)+b", "a" * 64)


def is_suspended(reporter: Reporter, controls: Controls) -> None:
    """SIGSTOP; continued, it trains on and finishes."""
    _train(reporter)
    os.kill(os.getpid(), signal.SIGSTOP)
    _train(reporter, first=6, last=10)
    _finish(reporter, 10)


def fills_a_pipe(reporter: Reporter, controls: Controls) -> None:
    """Writes into a pipe that nobody reads."""
    _train(reporter)
    _, pipe = os.pipe()
    while True:
        os.write(pipe, b"x" * 65536)


def evaluates_forever(reporter: Reporter, controls: Controls) -> None:
    """Computes in a phase that says nothing any more."""
    _train(reporter)
    reporter.phase(Phase.EVALUATING, step=5)
    while True:
        pass


def crawls(reporter: Reporter, controls: Controls) -> None:
    """Works a little and sleeps a lot, and no step ever ends."""
    _train(reporter)
    while True:
        until = time.process_time() + 0.03
        while time.process_time() < until:
            pass
        time.sleep(0.15)


def forks_while_a_thread_holds_a_lock(reporter: Reporter, controls: Controls) -> None:
    """The fork inherits the lock and not the thread that would release it; the parent waits for it."""
    _train(reporter)
    lock, is_held = threading.Lock(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            time.sleep(FOREVER_S)

    threading.Thread(target=hold, daemon=True).start()
    is_held.wait()
    _wait_for_a_fork_that(lock.acquire)


def forks_after_openmp(reporter: Reporter, controls: Controls) -> None:
    """GNU's OpenMP does not survive a fork: the child waits for threads that it has not got."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(2)
    numbers = torch.ones(2_000_000)
    numbers.sin()
    _train(reporter)
    _wait_for_a_fork_that(numbers.sin)


def _wait_for_a_fork_that(work: Callable[[], object]) -> None:
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    Path("pids.json").write_text(f"[{pid}]")
    os.waitpid(pid, 0)


def waits_for_a_worker(reporter: Reporter, controls: Controls) -> None:
    """A real DataLoader, the worker of which never delivers its second batch."""
    data_loader = importlib.import_module("torch.utils.data").DataLoader
    _train(reporter)
    list(data_loader(_Stuck(), num_workers=1, multiprocessing_context="fork"))


class _Stuck:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, row: int) -> int:
        if row == 1:
            time.sleep(FOREVER_S)
        return row


def starts_and_hangs(reporter: Reporter, controls: Controls) -> None:
    """Not one step: it says that it loads, and that was all."""
    reporter.phase(Phase.LOADING, step=0)
    threading.Lock().acquire()
    threading.Event().wait()


def does_not_answer(reporter: Reporter, controls: Controls) -> None:
    """A script without the handler for SIGUSR1, stuck in native code with the interpreter lock held."""
    faulthandler.unregister(signal.SIGUSR1)
    locks_twice_holding_the_interpreter(reporter, controls)


def waits_and_goes_on(reporter: Reporter, controls: Controls) -> None:
    """Stuck until the file ``go`` appears in its folder; then it trains on and finishes."""
    _train(reporter)
    while not Path("go").exists():
        time.sleep(0.1)
    _train(reporter, first=6, last=10, step_s=0.4)
    _finish(reporter, 10)


def is_slow_but_alive(reporter: Reporter, controls: Controls) -> None:
    """Slow steps, and five seconds in which it saves a checkpoint and says nothing."""
    _train(reporter, last=4, step_s=0.8)
    reporter.phase(Phase.SAVING, step=4)
    time.sleep(5.0)
    _train(reporter, first=5, last=8, step_s=0.8)
    _finish(reporter, 8)


HANGS: dict[str, Hang] = {
    hang.__name__: hang
    for hang in (
        locks_twice,
        locks_twice_holding_the_interpreter,
        spins,
        computes_holding_the_interpreter,
        fills_a_pipe,
        forks_while_a_thread_holds_a_lock,
        forks_after_openmp,
        waits_for_a_worker,
        starts_and_hangs,
        does_not_answer,
        evaluates_forever,
        crawls,
        waits_and_goes_on,
        is_slow_but_alive,
        is_suspended,
    )
}


def main() -> None:
    """Be the trainer that hangs so."""
    hang, run_dir, attempt = sys.argv[1], sys.argv[2], int(sys.argv[4])
    paths = RunPaths(Path(run_dir))
    answer_with_stacks(paths, attempt=attempt)
    reporter = Reporter(paths, attempt=attempt)
    controls = Controls(paths)
    with contextlib.closing(reporter):
        HANGS[hang](reporter, controls)


if __name__ == "__main__":
    main()
