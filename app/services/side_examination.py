"""An examination beside the server: one at a time, followed line by line, its last report kept.

The command prints JSON lines; the one that holds the report's main list is
the report, everything before it is progress.  Nothing of it is loaded here.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from app.errors import Conflict, Unavailable
from app.services.side_process import SideProcess
from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object, write_atomic

FINISHED_AT: Final = "finished_at"


class KeptReport:
    """The last report of an examination, in a file; it survives the server."""

    def __init__(self, path: Path, *, main_list: str) -> None:
        """``main_list`` is the key of the list without which it is no report."""
        self._path = path
        self._main_list = main_list

    def is_one(self, word: object) -> bool:
        """Whether ``word`` is a report at all."""
        return isinstance(word, dict) and isinstance(word.get(self._main_list), list)

    def read(self) -> dict[str, Any] | None:
        """The report with its time; None where there is none, or one of a version that is gone."""
        try:
            report = read_object(self._path)
        except ProtocolError:
            return None
        return report if self.is_one(report) else None

    def write(self, report: dict[str, Any]) -> None:
        """Keep it.

        Raises:
            OSError: it cannot be written.
        """
        write_atomic(self._path, json.dumps(report).encode())

    def with_age(self) -> dict[str, Any]:
        """``{"report", "finished_at", "age_s"}``, each None before the first."""
        report = self.read()
        finished_at = report.pop(FINISHED_AT, None) if report is not None else None
        age_s = None if finished_at is None else max(0.0, time.time() - finished_at)
        return {"report": report, FINISHED_AT: finished_at, "age_s": age_s}


class SideExamination:
    """Starts the command, follows it, keeps what it reports."""

    def __init__(
        self,
        name: str,
        *,
        command: Callable[[], Sequence[str]],
        kept: KeptReport,
        limit_s: float,
        progress: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """Wire it; nothing can be started before :meth:`start`.

        Args:
            name: in words, as the subject of a sentence: ``The doctor``.
            command: gives the argument vector.
            kept: where its report goes.
            limit_s: seconds after which it is ended.
            progress: called with every other object it prints, from a thread of its own.
        """
        self._name = name
        self._command = command
        self._kept = kept
        self._limit_s = limit_s
        self._progress = progress
        self._lock = threading.Lock()
        self._is_open = False
        self._process: SideProcess | None = None
        self._thread: threading.Thread | None = None
        self._started_at: float | None = None
        self._is_cancelled = False
        self._trouble: str | None = None

    def start(self) -> None:
        """From now on it can be launched."""
        with self._lock:
            self._is_open = True

    def close(self) -> None:
        """End it, and launch no other."""
        with self._lock:
            self._is_open = False
            thread = self._thread
        self.cancel()
        if thread is not None:
            thread.join()

    def launch(self, *, prepare: Callable[[], None] | None = None) -> None:
        """Start it unless it is running; ``prepare`` is called just before.

        Raises:
            Conflict: the server is starting or ending.
            Unavailable: no process can be started now.
        """
        with self._lock:
            if not self._is_open:
                raise Conflict("the server is starting or ending", hint="try again in a moment")
            if self._process is not None:
                return
            try:
                self._process = SideProcess(self._command())
            except OSError as exc:
                raise Unavailable(f"{self._name} cannot be started: {exc.strerror}") from exc
            if prepare is not None:
                prepare()
            self._started_at, self._trouble, self._is_cancelled = time.time(), None, False
            self._thread = threading.Thread(
                target=self._follow, args=(self._process,), name=self._name, daemon=True
            )
            self._thread.start()

    def cancel(self) -> None:
        """End it if it runs; it cleans up first."""
        with self._lock:
            if self._process is not None:
                self._is_cancelled = True
                self._process.ask_to_end()

    def status(self) -> dict[str, Any]:
        """Whether it runs, since when, why the newest has no report, the last report and its age."""
        with self._lock:
            status = {
                "running": self._process is not None,
                "cancelling": self._process is not None and self._is_cancelled,
                "started_at": self._started_at,
                "trouble": self._trouble,
            }
        return {**status, **self._kept.with_age()}

    def _follow(self, process: SideProcess) -> None:
        """Read what it prints, in a thread of its own, until it has ended."""
        timer = process.limit(self._limit_s)
        report: dict[str, Any] | None = None
        for line in process.output:
            report = self._take(line) or report
        timer.cancel()
        code, said = process.close()
        trouble = None if report is not None else self._why(code, said, is_late=process.is_late)
        if report is not None:
            try:
                self._kept.write({**report, FINISHED_AT: time.time()})
            except OSError as exc:
                trouble = f"The report cannot be kept: {exc.strerror}."
        with self._lock:
            self._trouble, self._started_at, self._process = trouble, None, None

    def _take(self, line: bytes) -> dict[str, Any] | None:
        """The report, if the line is that; everything else is progress."""
        word: Any = None
        with contextlib.suppress(ValueError):
            word = json.loads(line)
        if self._kept.is_one(word):
            return dict(word)
        if isinstance(word, dict) and self._progress is not None:
            self._progress(word)
        return None

    def _why(self, code: int, said: str, *, is_late: bool) -> str:
        if self._is_cancelled:
            return f"{self._name} was ended before it had finished."
        if is_late:
            return f"{self._name} did not finish within {self._limit_s:g} s and was ended."
        return f"{self._name} ended with {code} and without a report. {said}".strip()
