"""A process that answers one question and may crash or hang on it: both are findings, with its last words."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

from trainer.environment.doctor.check import Check, Verdict

TAIL_LINES: Final = 40
TAIL_BYTES: Final = 16_384


@dataclass(frozen=True)
class Outcome:
    """How the process ended; ``code`` is None when it was killed at its limit."""

    code: int | None
    answer: bytes
    complaint: str
    took_s: float


def ask(command: Sequence[str], *, environ: Mapping[str, str], limit_s: float) -> Outcome:
    """Run ``command`` in a session of its own; after ``limit_s`` seconds all of it is killed."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as complaint:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=answer,
            stderr=complaint,
            env=dict(environ),
            start_new_session=True,
        )
        code = _wait(process, limit_s)
        return Outcome(code, _content(answer), _tail(complaint), time.monotonic() - began)


def failure(name: str, title: str, outcome: Outcome, *, limit_s: float) -> Check:
    """The finding about a process that has not answered."""
    lines = outcome.complaint.splitlines()[-TAIL_LINES:]
    details: dict[str, Any] = {"lines": lines, "took_s": round(outcome.took_s, 2)}
    if outcome.code is None:
        found = f"The probe hung: it did not answer within {limit_s:g} s and was ended."
        remedy = (
            "The details show where every thread stood. A run on this machine may hang at the same place."
        )
    elif outcome.code < 0:
        details["signal"] = -outcome.code
        found = (
            f"The probe died of {_signal_name(-outcome.code)}: what it did cannot be done on this machine."
        )
        remedy = "The details hold the stack. Reinstall the library named there; see docs/doctor.md."
    else:
        details["exit_code"] = outcome.code
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        found = f"The probe failed: {last}" if last else "The probe ended without an answer."
        remedy = "The details hold the whole message. A missing package is installed by: make run"
    return Check(name, title, Verdict.PROBLEM, found, remedy, details)


def _wait(process: subprocess.Popen[bytes], limit_s: float) -> int | None:
    """The exit code; None, and the whole session killed, when the limit has passed."""
    try:
        return process.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # not collected yet: the number is still its own
        process.wait()
        return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _tail(file: IO[bytes]) -> str:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - TAIL_BYTES))
    return file.read().decode("utf-8", "replace")
