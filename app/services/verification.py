"""The rehearsal on the doctor's page: starts ``python -m trainer verify`` and follows its stages."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from app.config import Settings
from app.errors import Conflict, Unavailable
from app.services.side_process import SideProcess
from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object, write_atomic

REPORT: Final = "verify.json"
LIMIT_S: Final = 360.0  # the rehearsal has a limit of its own; this one is for its process


class Verification:
    """One rehearsal at a time."""

    def __init__(
        self,
        settings: Settings,
        *,
        command: Callable[[Settings], list[str]] | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        """Wire it; nothing can be started before :meth:`start`.

        Args:
            settings: where the instance is.
            command: what prints stages and a report; None stands for that of the training side.
            limit_s: seconds after which a rehearsal is ended.
        """
        self._settings = settings
        self._command = command or verify_command
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._is_open = False
        self._process: SideProcess | None = None
        self._thread: threading.Thread | None = None
        self._started_at: float | None = None
        self._is_cancelled = False
        self._trouble: str | None = None
        self._order: list[dict[str, Any]] = []
        self._stages: list[dict[str, Any]] = []

    def start(self) -> None:
        """From now on a rehearsal can be started."""
        with self._lock:
            self._is_open = True

    def close(self) -> None:
        """End a running rehearsal, and start no other."""
        with self._lock:
            self._is_open = False
            thread = self._thread
        self.cancel()
        if thread is not None:
            thread.join()

    def rehearse(self) -> dict[str, Any]:
        """Start one unless one is running, and tell the status.

        Raises:
            Conflict: the server is starting or ending.
            Unavailable: no process can be started now.
        """
        with self._lock:
            if not self._is_open:
                raise Conflict("the server is starting or ending", hint="try again in a moment")
            if self._process is None:
                self._launch()
        return self.status()

    def cancel(self) -> dict[str, Any]:
        """End a running rehearsal; it cleans up first. Harmless when none runs."""
        with self._lock:
            if self._process is not None:
                self._is_cancelled = True
                self._process.ask_to_end()
        return self.status()

    def status(self) -> dict[str, Any]:
        """What runs, its stages so far, why the newest has no report, the last report and its age."""
        with self._lock:
            status = {
                "running": self._process is not None,
                "cancelling": self._process is not None and self._is_cancelled,
                "started_at": self._started_at,
                "order": list(self._order),
                "stages": list(self._stages),
                "trouble": self._trouble,
            }
        report = self._stored()
        finished_at = report.pop("finished_at", None) if report is not None else None
        age_s = None if finished_at is None else max(0.0, time.time() - finished_at)
        return {**status, "report": report, "finished_at": finished_at, "age_s": age_s}

    def _launch(self) -> None:
        try:
            self._process = SideProcess(self._command(self._settings))
        except OSError as exc:
            raise Unavailable(f"the rehearsal cannot be started: {exc.strerror}") from exc
        self._started_at, self._trouble, self._is_cancelled = time.time(), None, False
        self._order, self._stages = [], []
        self._thread = threading.Thread(
            target=self._follow, args=(self._process,), name="verification", daemon=True
        )
        self._thread.start()

    def _follow(self, process: SideProcess) -> None:
        """Read the stages as they come, in a thread of its own, and store the report."""
        timer = process.limit(self._limit_s)
        report: dict[str, Any] | None = None
        for line in process.output:
            report = self._take(line) or report
        timer.cancel()
        code, said = process.close()
        trouble = None if report is not None else self._why(code, said, is_late=process.is_late)
        if report is not None:
            try:
                write_atomic(
                    self._settings.instance / REPORT,
                    json.dumps({**report, "finished_at": time.time()}).encode(),
                )
            except OSError as exc:
                trouble = f"The report cannot be kept: {exc.strerror}."
        with self._lock:
            self._trouble, self._started_at, self._process = trouble, None, None

    def _why(self, code: int, said: str, *, is_late: bool) -> str:
        if self._is_cancelled:
            return "It was ended before the last stage."
        if is_late:
            return f"It did not finish within {self._limit_s:g} s and was ended."
        return f"It ended with {code} and without a report. {said}".strip()

    def _take(self, line: bytes) -> dict[str, Any] | None:
        """Take one line of output in; the report, if it is that."""
        with contextlib.suppress(ValueError):
            word = json.loads(line)
            if isinstance(word, dict) and isinstance(word.get("stages"), list):
                return word
            with self._lock:
                if isinstance(word, dict) and isinstance(word.get("order"), list):
                    self._order = word["order"]
                elif isinstance(word, dict) and isinstance(word.get("stage"), dict):
                    self._stages = [*self._stages, word["stage"]]
        return None

    def _stored(self) -> dict[str, Any] | None:
        try:
            report = read_object(self._settings.instance / REPORT)
        except ProtocolError:
            return None  # never rehearsed, or by a version that is gone
        return report if isinstance(report.get("stages"), list) else None


def verify_command(settings: Settings) -> list[str]:
    """What rehearses on this machine for the dashboard with these ``settings``."""
    return [
        *(sys.executable, "-P", "-m", "trainer", "verify", "--json"),
        f"--instance={settings.instance}",
    ]
