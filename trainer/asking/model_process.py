"""A process with a trained model in it: started, spoken to, bounded, and told why it ended.

It is a fresh interpreter in a session of its own.  It ends with the process
that started it however that dies: its standard input does, and on Linux the
kernel kills it.  While it works its memory and its time are looked at ten
times a second; time in which the looker itself had no turn does not count.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Final

import psutil

from trainer.asking.faults import AskingError, Fault, fault_from
from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence, exit_of
from trainer.diagnosis.log_text import decode
from trainer.diagnosis.silent_ends import unexplained
from trainer.supervisor.oom_kills import count_oom_kills, memory_limit_bytes, oom_kills_are_own

Tell = Callable[[str, float], None]

_LOOK_EVERY_S: Final = 0.1
_ABSENT_S: Final = 1.0
_DYING_S: Final = 3.0
_MOST_ANSWER_BYTES: Final = 4 * 1024 * 1024
_TAIL_BYTES: Final = 65_536
_SHOWN_LINES: Final = 12
_PR_SET_PDEATHSIG: Final = 1
_NICENESS: Final = 5  # a training beside it comes first
_GIB: Final = 1024**3


class ModelProcess:
    """One started process."""

    def __init__(self, argv: list[str], *, environ: Mapping[str, str], cwd: Path, memory_bytes: int) -> None:
        """Start it; the kernel ends it with the thread that calls this.

        Raises:
            OSError: it cannot be started.
        """
        self._memory_bytes = memory_bytes
        self._most_bytes = 0
        self._oom_kills_before = count_oom_kills()
        self._received = b""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=dict(environ),
                cwd=cwd,
                start_new_session=True,
                preexec_fn=_before_exec(),
                bufsize=0,
            )
        except OSError:
            self._log.close()
            raise
        self._selector = selectors.DefaultSelector()
        self._selector.register(_stream(self._process.stdout), selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any], *, what: str, limit_s: float, tell: Tell) -> dict[str, Any]:
        """Send one request and wait for its answer.

        Args:
            request: as :mod:`trainer.asking.__main__` says.
            what: the request in words, to go behind "while".
            limit_s: how long it may take, seconds.
            tell: called with how far it is.

        Raises:
            AskingError: it told of trouble, died, or went over a bound; then it has been ended.
        """
        with contextlib.suppress(BrokenPipeError):  # the next look finds that it has died
            _stream(self._process.stdin).write(json.dumps(request).encode() + b"\n")
        waited_s, looked_at = 0.0, time.monotonic()
        while True:
            word = self._heard(what)
            if word is not None and "tell" in word:
                tell(word["tell"], word["fraction"])
            elif word is not None and "error" in word:
                raise self._told(word["error"], what)
            elif word is not None:
                return word
            self.check_memory(what)
            now = time.monotonic()
            waited_s += min(now - looked_at, _ABSENT_S)
            looked_at = now
            if waited_s > limit_s:
                raise self._hung(what, limit_s)

    def check_memory(self, what: str) -> None:
        """End it when it holds more than it may.

        Raises:
            AskingError: it did.
        """
        held = self._resident_bytes()
        self._most_bytes = max(self._most_bytes, held)
        if held <= self._memory_bytes:
            return
        self.end()
        raise AskingError(
            Fault.LIMIT,
            f"The model was ended: it held {held / _GIB:.1f} GiB while {what}, and may hold "
            f"{self._memory_bytes / _GIB:.1f} GiB.",
            hint="Ask on a terminal with more: python -m trainer ask RUN_DIR --memory-gib N.",
        )

    def end(self) -> None:
        """Kill it and all it has started, and close its files; harmless when it has ended."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            with contextlib.suppress(OSError):
                _stream(stream).close()

    def _heard(self, what: str) -> dict[str, Any] | None:
        """The next word; None when there is none yet."""
        if b"\n" not in self._received:
            if not self._selector.select(_LOOK_EVERY_S):
                return None
            received = os.read(_stream(self._process.stdout).fileno(), 65_536)
            if not received:
                raise self._died(what)
            self._received += received
            if len(self._received) > _MOST_ANSWER_BYTES:
                self.end()
                raise AskingError(Fault.BROKEN, "The answer is over 4 MiB; the model was ended.")
            if b"\n" not in self._received:
                return None
        line, _, self._received = self._received.partition(b"\n")
        word: dict[str, Any] = json.loads(line)
        return word

    def _told(self, error: dict[str, Any], what: str) -> AskingError:
        fault = fault_from(error)
        if fault.kind is not Fault.BROKEN:
            return fault
        log = self._printed()
        evidence = Evidence(log=log, exit_code=1, memory_limit_bytes=memory_limit_bytes())
        return AskingError(
            Fault.BROKEN,
            f"The program failed while {what}: {fault.message}",
            findings=diagnose(evidence),
            lines=_last_lines(log),
        )

    def _died(self, what: str) -> AskingError:
        """What to say of a process that closed its end of the line."""
        try:
            code = self._process.wait(_DYING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        log = self._printed()
        self.end()
        evidence = self._evidence(log, code)
        ending = f"was killed by signal {-code}" if code < 0 else f"ended with exit status {code}"
        return AskingError(
            Fault.DIED,
            f"The model's process {ending} while {what}. The next question starts another.",
            findings=diagnose(evidence) or [unexplained(evidence, reason="it left before it had answered")],
            lines=_last_lines(log),
        )

    def _evidence(self, log: str, code: int) -> Evidence:
        exit_code, number = exit_of(code)
        now = count_oom_kills()
        before = self._oom_kills_before
        return Evidence(
            log=log,
            exit_code=exit_code,
            signal=number,
            last_rss_bytes=self._most_bytes or None,
            num_oom_kills=None if now is None or before is None else now - before,
            oom_kills_are_own=oom_kills_are_own(),
            memory_limit_bytes=memory_limit_bytes(),
            platform="darwin" if sys.platform == "darwin" else "linux",
        )

    def _hung(self, what: str, limit_s: float) -> AskingError:
        """End a process that does not answer, and say where it stood: SIGABRT makes it tell."""
        with contextlib.suppress(OSError):
            self._process.send_signal(signal.SIGABRT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_DYING_S)
        log = self._printed()
        self.end()
        return AskingError(
            Fault.LIMIT,
            f"The model gave no answer within {limit_s:g} s while {what}, and was ended.",
            hint="Ask for less, or on a terminal with more time: python -m trainer ask RUN_DIR --limit-s N.",
            lines=_last_lines(log),
        )

    def _printed(self) -> str:
        descriptor = self._log.fileno()
        size = os.fstat(descriptor).st_size
        return decode(os.pread(descriptor, _TAIL_BYTES, max(0, size - _TAIL_BYTES)))

    def _resident_bytes(self) -> int:
        held = 0
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(self._process.pid)
            for process in (root, *root.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    held += process.memory_info().rss
        return held


def _last_lines(log: str) -> list[str]:
    return [line for line in log.splitlines() if line.strip()][-_SHOWN_LINES:]


def _before_exec() -> Callable[[], None]:
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    parent = os.getpid()

    def in_child() -> None:
        with contextlib.suppress(OSError):
            os.nice(_NICENESS)
        if libc is None:
            return
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # it died between fork and prctl
            os.kill(os.getpid(), signal.SIGKILL)

    return in_child


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("every stream of the model's process is a pipe")
    return stream
