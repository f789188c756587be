"""Trainer processes for tests of the training itself, forked from one that has imported the libraries.

A trainer spends most of a small run on importing torch and transformers.  Here
the standard library's fork server imports them once; each process is a real one
otherwise: its own memory, signals and exit code.  What starts cold, by command
line, are second attempts here (so a resumed run differs in its hash seed from
the one it must repeat) and everything that a supervisor starts.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
ENVIRON: Final = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "HF_HUB_OFFLINE": "1"}
PRELOADED: Final = [
    "torch._dynamo",  # the first optimizer asks for it
    "trainer.tasks.two_tower.task",
    "trainer.tasks.text_classification.task",
    "trainer.tasks.causal_lm.task",
]


class Launched:
    """A process with the interface of ``subprocess.Popen``; its output lies in a file."""

    def __init__(self, process: subprocess.Popen[bytes] | ForkServerProcess, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def returncode(self) -> int | None:
        """None while it lives; negative: the signal that ended it."""
        return self.poll()

    def poll(self) -> int | None:
        """The exit code, or None while it lives."""
        if isinstance(self._process, subprocess.Popen):
            return self._process.poll()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to a process that has not ended."""
        if self.poll() is None and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def wait(self, timeout: float = 100) -> int:
        """Its exit code.

        Raises:
            TimeoutError: it is still there after ``timeout`` seconds, and was killed.
        """
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                self._process.kill()
                raise TimeoutError(f"the process did not end within {timeout} s:\n{self._log.read_text()}")
            time.sleep(0.005)
        return code

    def output(self, timeout: float = 100) -> str:
        """What it wrote to both its streams, once it has ended."""
        self.wait(timeout)
        return self._log.read_text()


def launch(log: Path, module: str, *arguments: str, is_warm: bool = True) -> Launched:
    """Start ``python -m MODULE ARGUMENTS``, its output going to ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if is_warm:
        forked = _context().Process(target=_run, args=(log, module, arguments))
        forked.start()
        atexit.register(forked.kill)  # what a failed test has left would be waited for
        return Launched(forked, log)
    with log.open("ab") as stream:
        command = [sys.executable, "-u", "-m", module, *arguments]
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **ENVIRON}, stdin=subprocess.DEVNULL,
            stdout=stream, stderr=subprocess.STDOUT,
        )  # fmt: skip
    return Launched(process, log)


def launch_engine(run_dir: Path, *, attempt: int = 1) -> Launched:
    """Start the trainer on a run folder; attempts after the first start cold."""
    log = run_dir.parent / f"{run_dir.name}-engine.log"
    arguments = (str(run_dir), "--attempt", str(attempt))
    return launch(log, "trainer.engine", *arguments, is_warm=attempt == 1)


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with _environment():
        forkserver.ensure_running()
    return context


@contextmanager
def _environment() -> Iterator[None]:
    """The libraries read these when they are imported: set for the server, not for the tests."""
    before = {name: os.environ.get(name) for name in ENVIRON}
    os.environ.update(ENVIRON)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _run(log: Path, module: str, arguments: tuple[str, ...]) -> None:
    """In the forked process: what ``python -m`` does."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(descriptor, stream.fileno())
    os.close(descriptor)
    os.chdir(ROOT)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
