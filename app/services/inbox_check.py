"""Asks the training side whether a file can be trained on, in a process of its own with bounds.

``python -m trainer datasets check FILE --json`` uses the readers that training
uses; nothing of a dropped file is parsed in the web process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import psutil

from trainer.environment.build import build

ROOT: Final = Path(__file__).resolve().parents[2]
MAX_CPU_S: Final = 600
MAX_WALL_S: Final = 900.0
_GIB: Final = 1024**3
_POLITE: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
)  # the machine goes down: no verdict on the file
_SHOWN_CHARACTERS: Final = 500


class CheckTrouble(Exception):
    """The check itself could not be done now; try again later. The message says why."""


class Checker(Protocol):
    """Says whether a file can be trained on."""

    def check(self, path: Path, *, kinds: Sequence[str] = ()) -> dict[str, Any]:
        """``{"ok": true, "sha256", "kind", "num_pairs", …}`` or ``{"ok": false, "error"}``.

        ``kinds`` are those the file may be of; empty for all there are.

        Raises:
            CheckTrouble: it could not be found out now.
        """

    def close(self) -> None:
        """Give up a check that is under way; no other is begun."""


class ProcessChecker:
    """Checks in a process, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def check(self, path: Path, *, kinds: Sequence[str] = ()) -> dict[str, Any]:
        """Run the check and wait for its verdict, at most a quarter of an hour."""
        with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as complaint:
            with self._lock:
                if self._is_closed:
                    raise CheckTrouble("the server ends")
                try:
                    process = self._process = subprocess.Popen(
                        _command(path, kinds),
                        stdin=subprocess.DEVNULL, stdout=answer, stderr=complaint, env=_environment(),
                        start_new_session=True,
                    )  # fmt: skip
                except OSError as exc:
                    raise CheckTrouble(f"no process can be started: {exc.strerror}") from exc
            try:
                process.wait(MAX_WALL_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return {"ok": False, "error": f"could not be read within {MAX_WALL_S:g} s"}
            answer.seek(0)
            complaint.seek(0)
            return self._verdict(process.returncode, answer.read(), complaint.read())

    def close(self) -> None:
        """End a check that is under way."""
        with self._lock:
            self._is_closed = True
            if self._process is not None and self._process.poll() is None:
                self._process.kill()

    def _verdict(self, code: int, answer: bytes, complaint: bytes) -> dict[str, Any]:
        try:
            told = json.loads(answer)
        except ValueError:
            told = None
        if isinstance(told, dict) and isinstance(told.get("ok"), bool):
            return told
        if self._is_closed or -code in _POLITE:
            raise CheckTrouble("the check was told to end")
        said = complaint.decode("utf-8", "replace").strip()[-_SHOWN_CHARACTERS:]
        if code < 0:  # of its limits, or a parser that crashed on it: trying again would change nothing
            return {
                "ok": False,
                "error": f"the check was ended by signal {-code}: too much for it. {said}".strip(),
            }
        raise CheckTrouble(f"the check ended with exit code {code}. {said}".strip())


def _command(path: Path, kinds: Sequence[str]) -> list[str]:
    memory_gib = max(4.0, psutil.virtual_memory().total / _GIB / 2)
    bounds = ["--read-only", "--max-memory-gib", f"{memory_gib:.1f}", "--max-cpu-s", str(MAX_CPU_S)]
    words = ["--json", *bounds, *(f"--kind={kind}" for kind in kinds), "--", str(path)]
    return [sys.executable, "-P", "-m", "trainer", "datasets", "check", *words]


def _environment() -> dict[str, str]:
    """What a trainer may inherit, so that no secret of the server gets through; one thread is enough."""
    passed = {one.name: one.value for one in build(inherited=os.environ) if one.source == "inherited"}
    return {**passed, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
