"""Looks files over in a process of its own: ``python -m trainer datasets inspect … --read-only``.

It may read only, in bounds of memory and time; nothing of a file is parsed in
the web process.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from app.errors import Conflict, InvalidRequest, Unavailable
from app.services.side_process import SideProcess

MOST_AT_ONCE: Final = 2
QUICK_LIMIT_S: Final = 60
LIMIT_S: Final = 900
MAX_MEMORY_GIB: Final = 8.0
_GIB: Final = 1024**3
_TRAINER: Final = (sys.executable, "-P", "-m", "trainer", "datasets")


@dataclass(frozen=True)
class InspectionWish:
    """How a file is to be looked at; the defaults let it speak for itself."""

    kind: str = ""
    columns: dict[str, str] | None = None
    is_quick: bool = False
    tokenizer: str = ""

    def words(self) -> list[str]:
        """The options for the command line."""
        words = [f"--column={role}={name}" for role, name in (self.columns or {}).items()]
        if self.kind:
            words.append(f"--kind={self.kind}")
        if self.is_quick:
            words.append("--quick")
        if self.tokenizer:
            words.append(f"--tokenizer={self.tokenizer}")
        return words


class Inspections:
    """A few processes at a time; what is asked for beyond them is told to come again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_open = False
        self._running: set[SideProcess] = set()

    def start(self) -> None:
        """From now on files can be looked over."""
        with self._lock:
            self._is_open = True

    def close(self) -> None:
        """End what runs, and start nothing any more; their callers get an answer."""
        with self._lock:
            self._is_open = False
            for process in self._running:
                process.kill()

    def inspect(self, path: Path, wish: InspectionWish) -> dict[str, Any]:
        """The report of ``path``; what is wrong with it stands in its ``check``.

        Raises:
            InvalidRequest: the kind or a role does not exist.
            Conflict: the server is starting or ending.
            Unavailable: too many files are being looked over.
        """
        limit_s = QUICK_LIMIT_S if wish.is_quick else LIMIT_S
        report = self._ask("inspect", wish.words(), [path], limit_s=limit_s)
        if "error" in report:
            check = {"ok": False, "error": report["error"]}
            return {"path": str(path), "kind": None, "mapping": {}, "check": check}
        return report

    def overlap(
        self, paths: tuple[Path, Path], *, kind: str, columns: tuple[Mapping[str, str], Mapping[str, str]]
    ) -> dict[str, Any]:
        """What a training file and a validation file of one kind share.

        Raises:
            InvalidRequest: one of them cannot be read; the message says where.
            Conflict, Unavailable: as :meth:`inspect`.
        """
        words = [f"--kind={kind}"]
        words += [f"--column={role}={name}" for role, name in columns[0].items()]
        words += [f"--validation-column={role}={name}" for role, name in columns[1].items()]
        report = self._ask("overlap", words, list(paths), limit_s=LIMIT_S)
        if "error" in report:
            raise InvalidRequest(str(report["error"]), field="validation")
        return report

    def _ask(self, action: str, words: list[str], paths: list[Path], *, limit_s: int) -> dict[str, Any]:
        memory_gib = min(MAX_MEMORY_GIB, max(2.0, psutil.virtual_memory().total / _GIB / 2))
        bounds = ["--json", "--read-only", f"--max-memory-gib={memory_gib:.1f}", f"--max-cpu-s={limit_s}"]
        process = self._launch([*_TRAINER, action, *bounds, *words, "--", *map(str, paths)])
        timer = process.limit(limit_s)
        try:
            answer = process.output.read()
        finally:
            timer.cancel()
            code, said = process.close()
            with self._lock:
                self._running.discard(process)
        return self._parsed(answer, code=code, said=said, is_late=process.is_late, limit_s=limit_s)

    def _launch(self, command: list[str]) -> SideProcess:
        with self._lock:
            if not self._is_open:
                raise Conflict("the server is starting or ending", hint="try again in a moment")
            if len(self._running) >= MOST_AT_ONCE:
                raise Unavailable("too many files are being looked over", hint="try again in a moment")
            try:
                process = SideProcess(command)
            except OSError as exc:
                raise Unavailable(f"no process can be started: {exc.strerror}") from exc
            self._running.add(process)
            return process

    def _parsed(self, answer: bytes, *, code: int, said: str, is_late: bool, limit_s: int) -> dict[str, Any]:
        try:
            report = json.loads(answer)
        except ValueError:
            report = None
        if isinstance(report, dict):
            return report
        if not self._is_open:
            raise Conflict("the server is ending", hint="try again in a moment")
        if is_late:
            return {"error": f"it could not be read within {limit_s} s; split it into parts"}
        if code == 2:  # the command line was wrong: a kind or a role
            raise InvalidRequest(said.removeprefix("error: --column ") or "is wrong", field="columns")
        found = f"reading it was ended (code {code}): it needs too much memory or time. {said}"
        return {"error": found.strip()}
