"""The doctor's page: starts an examination in a process of its own, keeps the last report, ends leftovers.

The examination is ``python -m trainer doctor --json``; nothing of it is loaded
here.  Looking for leftover processes needs no training library and is done
right here, at the moment they are to be ended.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from typing import IO, Any, Final

from app.config import Settings
from app.errors import Conflict, Unavailable
from app.services.side_process import ROOT, side_environment
from trainer.environment.doctor.leftover_processes import end, find
from trainer.environment.doctor.leftovers import judge
from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object, write_atomic

REPORT: Final = "doctor.json"
LIMIT_S: Final = 120.0  # every probe has a limit of its own; this one is for the doctor itself
MAX_GRACE_S: Final = 10.0  # somebody waits for the answer
SHOWN_CHARACTERS: Final = 300
VERDICTS: Final = ("ok", "note", "warning", "problem")
log: Final = logging.getLogger(__name__)


class Doctor:
    """One examination at a time."""

    def __init__(
        self,
        settings: Settings,
        *,
        command: Callable[[Settings], list[str]] | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        """Wire it; nothing can be started before :meth:`start`.

        Args:
            settings: where the instance is, and the address of the dashboard.
            command: what prints a report; None stands for the doctor of the training side.
            limit_s: seconds after which an examination is ended.
        """
        self._settings = settings
        self._command = command or doctor_command
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._is_open = False
        self._started_at: float | None = None
        self._trouble: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """From now on examinations can be started."""
        with self._lock:
            self._is_open = True

    def close(self) -> None:
        """End a running examination, and start no other."""
        with self._lock:
            self._is_open = False
            if self._process is not None:
                _kill(self._process)
            thread = self._thread
        if thread is not None:
            thread.join()

    def examine(self) -> dict[str, Any]:
        """Start an examination unless one is running, and tell the status.

        Raises:
            Conflict: the server is starting or ending.
            Unavailable: no process can be started now.
        """
        with self._lock:
            if not self._is_open:
                raise Conflict("the server is starting or ending", hint="try again in a moment")
            if self._started_at is None:
                self._launch()
        return self.status()

    def status(self) -> dict[str, Any]:
        """Whether one is running, why the newest has no report, the last report, and its age in seconds."""
        with self._lock:
            started_at, trouble = self._started_at, self._trouble
        report = self._stored()
        finished_at = report.pop("finished_at", None) if report is not None else None
        age_s = None if finished_at is None else max(0.0, time.time() - finished_at)
        return {
            "running": started_at is not None,
            "started_at": started_at,
            "trouble": trouble,
            "report": report,
            "finished_at": finished_at,
            "age_s": age_s,
        }

    def end_leftovers(self, wanted: Iterable[tuple[int, float]]) -> list[dict[str, Any]]:
        """End those of ``wanted`` (pid, creation time) that prove to be leftovers of this instance again.

        The stored report then tells what is left.
        """
        runs_dir = self._settings.runs_dir
        grace_s = min(MAX_GRACE_S, self._settings.stop_grace_s)
        ended = end(wanted, runs_dir=runs_dir, grace_s=grace_s)
        for one in ended:
            log.warning("leftover process %d: %s", one.pid, one.outcome)
        with self._lock:
            report = self._stored()
            if report is not None:
                self._store(_renewed(report, judge(find(runs_dir)).to_json()))
        return [one.to_json() for one in ended]

    def _launch(self) -> None:
        answer, complaint = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                self._command(self._settings),
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=complaint,
                cwd=ROOT,
                env=side_environment(os.environ),
                start_new_session=True,
            )
        except OSError as exc:
            answer.close()
            complaint.close()
            raise Unavailable(f"the doctor cannot be started: {exc.strerror}") from exc
        self._started_at, self._trouble = time.time(), None
        arguments = (self._process, answer, complaint)
        self._thread = threading.Thread(target=self._collect, args=arguments, name="doctor", daemon=True)
        self._thread.start()

    def _collect(self, process: subprocess.Popen[bytes], answer: IO[bytes], complaint: IO[bytes]) -> None:
        """Wait for the examination, in a thread of its own, and store what it says."""
        trouble: str | None
        with answer, complaint:
            try:
                process.wait(self._limit_s)
                report, trouble = _report(answer), None
            except subprocess.TimeoutExpired:
                _kill(process)
                process.wait()
                trouble = f"The doctor did not finish within {self._limit_s:g} s and was ended."
            except ValueError:
                complaint.seek(0)
                said = complaint.read().decode("utf-8", "replace").strip()[-SHOWN_CHARACTERS:]
                trouble = f"The doctor ended with {process.returncode} and without a report. {said}".strip()
        with self._lock:
            if trouble is None:
                try:
                    self._store({**report, "finished_at": time.time()})
                except OSError as exc:
                    trouble = f"The report cannot be kept: {exc.strerror}."
            self._trouble, self._started_at, self._process = trouble, None, None

    def _stored(self) -> dict[str, Any] | None:
        try:
            report = read_object(self._settings.instance / REPORT)
        except ProtocolError:
            return None  # never examined, or by a version that is gone
        return report if isinstance(report.get("checks"), list) else None

    def _store(self, report: dict[str, Any]) -> None:
        write_atomic(self._settings.instance / REPORT, json.dumps(report).encode())


def doctor_command(settings: Settings) -> list[str]:
    """What examines this machine for the dashboard with these ``settings``."""
    place = ["--instance", str(settings.instance), "--host", settings.host, "--port", str(settings.port)]
    return [sys.executable, "-P", "-m", "trainer", "doctor", "--json", *place]


def _report(answer: IO[bytes]) -> dict[str, Any]:
    """What the doctor has printed; ValueError when that is no report."""
    answer.seek(0)
    report = json.loads(answer.read())
    if not isinstance(report, dict) or not isinstance(report.get("checks"), list):
        raise ValueError("no report")
    return report


def _renewed(report: dict[str, Any], leftovers: dict[str, Any]) -> dict[str, Any]:
    """The report with the check of the leftovers replaced."""
    checks = [leftovers if one.get("id") == leftovers["id"] else one for one in report["checks"]]
    found = {one.get("verdict") for one in checks}
    verdict = next((one for one in reversed(VERDICTS) if one in found), "ok")
    return {**report, "checks": checks, "verdict": verdict}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the doctor; its probes end by alarms of their own."""
    with contextlib.suppress(OSError):
        process.kill()
