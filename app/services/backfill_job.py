"""One back-fill that runs beside the server: ``python -m trainer snapshot RUN_DIR --json``, followed."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from app.services.side_process import SideProcess

_WORDS: Final = {
    "asked": "asked",
    "known": "known already",
    "gone": "gone or damaged meanwhile",
    "undelivered": "not delivered",
}


class BackfillJob:
    """Started when it is made; what it says is kept until the next one of its run."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        checkpoint: str,
        probes: str,
        limit_s: float,
    ) -> None:
        """Start it.

        Args:
            command: the argument vector.
            checkpoint: as it was wished.
            probes: ``own`` or ``added``.
            limit_s: seconds after which it is ended.
        Raises:
            OSError: it cannot be started.
        """
        self._lock = threading.Lock()
        self._limit_s = limit_s
        self._is_cancelled = False
        self._state: dict[str, Any] = {
            "checkpoint": checkpoint,
            "probes": probes,
            "started_at": time.time(),
            "ended_at": None,
            "doing": {"detail": "starting", "fraction": 0.0},
            "snapshots": [],
            "words": None,
            "trouble": None,
            "findings": [],
        }
        self._process = SideProcess(command)
        self._thread = threading.Thread(target=self._follow, name="backfill", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._thread.is_alive()

    def status(self) -> dict[str, Any]:
        """How far it is, or how it ended."""
        with self._lock:
            return {**self._state, "snapshots": list(self._state["snapshots"])}

    def cancel(self) -> None:
        """End it; what it has asked stays."""
        self._is_cancelled = True
        self._process.ask_to_end()

    def close(self) -> None:
        """End it and wait until it has."""
        self.cancel()
        self._thread.join()

    def _follow(self) -> None:
        timer = self._process.limit(self._limit_s)
        error: dict[str, Any] | None = None
        report: dict[str, list[int]] | None = None
        for line in self._process.output:
            word: Any = None
            with contextlib.suppress(ValueError):
                word = json.loads(line)
            if isinstance(word, dict):
                report, error = word.get("report", report), word.get("error", error)
                self._hear(word)
        timer.cancel()
        code, said = self._process.close()
        with self._lock:
            self._state |= {"doing": None, "ended_at": time.time()}
            self._state["trouble"] = None if report else self._why(error, code, said)
            self._state["findings"] = error.get("findings", []) if error else []
            self._state["words"] = _in_words(report) if report else None

    def _hear(self, word: dict[str, Any]) -> None:
        with self._lock:
            if "tell" in word:
                self._state["doing"] = {"detail": word["tell"], "fraction": word["fraction"]}
            elif "snapshot" in word:
                self._state["snapshots"].append(word["snapshot"])

    def _why(self, error: dict[str, Any] | None, code: int, said: str) -> str:
        if self._is_cancelled:
            return "It was cancelled; the checkpoints asked until then stay."
        if error is not None:
            return f"{error['message']} {error.get('hint', '')}".strip()
        if self._process.is_late:
            return f"It did not finish within {self._limit_s / 3600:g} hours and was ended."
        return f"It ended with {code} and without a word. {said}".strip()


def _in_words(report: dict[str, list[int]]) -> str:
    parts = [f"{len(steps):,} {_WORDS[name]}" for name, steps in report.items() if steps]
    return f"Checkpoints: {', '.join(parts)}."
