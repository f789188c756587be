"""Runs every probe in a process of its own; one that crashes or hangs is itself a finding."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Any, Final

from trainer.environment.build import build
from trainer.environment.cores import usable_cores
from trainer.environment.doctor.check import Check, Verdict, worst
from trainer.environment.doctor.registry import PROBES, Probe
from trainer.environment.doctor.surroundings import Surroundings
from trainer.environment.variables import as_environ

NUM_LIGHT: Final = 2  # light probes at a time, beside the heavy ones
MAX_HEAVY: Final = 2
TAIL_LINES: Final = 40
TAIL_BYTES: Final = 16_384


@dataclass(frozen=True)
class _Outcome:
    """How a probe's process ended; ``code`` is None when it was killed at its limit."""

    code: int | None
    answer: bytes
    complaint: str
    took_s: float


class Examination:
    """One run of all probes."""

    def __init__(
        self,
        surroundings: Surroundings,
        *,
        environ: Mapping[str, str] | None = None,
        probes: Sequence[Probe] = PROBES,
    ) -> None:
        """Args:
        surroundings: what the probes are told.
        environ: where the probes' allowed variables are looked up; None stands for this process's own.
        probes: which to run, in the order of the report.
        """
        self._surroundings = surroundings
        self._environ = os.environ if environ is None else environ
        self._probes = probes
        self._cores = usable_cores()

    def report(self) -> dict[str, Any]:
        """Run them all: ``{"checks": [...], "verdict", "took_s"}``."""
        began = time.monotonic()
        heavy = [probe for probe in self._probes if probe.is_heavy]
        light = [probe for probe in self._probes if not probe.is_heavy]
        with (
            ThreadPoolExecutor(max(1, min(MAX_HEAVY, self._cores))) as heavy_pool,
            ThreadPoolExecutor(NUM_LIGHT) as light_pool,
        ):
            found = {probe.name: heavy_pool.submit(self.look, probe) for probe in heavy}
            found |= {probe.name: light_pool.submit(self.look, probe) for probe in light}
            checks = [check for probe in self._probes for check in found[probe.name].result()]
        return {
            "checks": [check.to_json() for check in checks],
            "verdict": worst(check.verdict for check in checks).value,
            "took_s": round(time.monotonic() - began, 2),
        }

    def look(self, probe: Probe) -> list[Check]:
        """Run one probe in its process; its failure becomes a check."""
        outcome = self._run(probe)
        if outcome.code == 0:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                return [Check.from_json(fields) for fields in json.loads(outcome.answer)]
        return [_failure(probe, outcome)]

    def environment(self, probe: Probe) -> dict[str, str]:
        """What the process of ``probe`` sees: what a trainer on its device would see."""
        variables = build(
            device=probe.device,
            platform=self._surroundings.platform,
            physical_cores=self._cores,
            inherited=self._environ,
            faiss_shares_process=True,  # the OpenMP probe loads both, to see what they bring
        )
        return as_environ(variables)

    def _run(self, probe: Probe) -> _Outcome:
        command = [sys.executable, "-u", "-X", "faulthandler", "-P", "-m", "trainer.environment.doctor"]
        began = time.monotonic()
        with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as complaint:
            process = subprocess.Popen(
                [*command, probe.module, self._surroundings.to_text(), str(probe.limit_s)],
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=complaint,
                env=self.environment(probe),
                start_new_session=True,
            )
            code = _wait(process, probe.limit_s)
            return _Outcome(code, _content(answer), _tail(complaint), time.monotonic() - began)


def _wait(process: subprocess.Popen[bytes], limit_s: float) -> int | None:
    """The exit code; None, and the whole session killed, when the limit has passed."""
    try:
        return process.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # not collected yet: the number is still its own
        process.wait()
        return None


def _failure(probe: Probe, outcome: _Outcome) -> Check:
    lines = outcome.complaint.splitlines()[-TAIL_LINES:]
    details: dict[str, Any] = {"lines": lines, "took_s": round(outcome.took_s, 2)}
    if outcome.code is None:
        found = f"The probe hung: it did not answer within {probe.limit_s:g} s and was ended."
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
    return Check(probe.name, probe.title, Verdict.PROBLEM, found, remedy, details)


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
