"""The rehearsal on the doctor's page: starts ``python -m trainer verify`` and follows its stages."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from app.config import Settings
from app.services.side_examination import KeptReport, SideExamination

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
        make_command = command or verify_command
        self._lock = threading.Lock()
        self._order: list[dict[str, Any]] = []
        self._stages: list[dict[str, Any]] = []
        self._examination = SideExamination(
            "The rehearsal",
            command=lambda: make_command(settings),
            kept=KeptReport(settings.instance / REPORT, main_list="stages"),
            limit_s=limit_s,
            progress=self._take,
        )

    def start(self) -> None:
        """From now on a rehearsal can be started."""
        self._examination.start()

    def close(self) -> None:
        """End a running rehearsal, and start no other."""
        self._examination.close()

    def rehearse(self) -> dict[str, Any]:
        """Start one unless one is running, and tell the status.

        Raises:
            Conflict: the server is starting or ending.
            Unavailable: no process can be started now.
        """
        self._examination.launch(prepare=self._forget)
        return self.status()

    def cancel(self) -> dict[str, Any]:
        """End a running rehearsal; it cleans up first. Harmless when none runs."""
        self._examination.cancel()
        return self.status()

    def status(self) -> dict[str, Any]:
        """What runs, its stages so far, why the newest has no report, the last report and its age."""
        status = self._examination.status()
        with self._lock:
            return {**status, "order": list(self._order), "stages": list(self._stages)}

    def _forget(self) -> None:
        with self._lock:
            self._order, self._stages = [], []

    def _take(self, word: dict[str, Any]) -> None:
        with self._lock:
            if isinstance(word.get("order"), list):
                self._order = word["order"]
            elif isinstance(word.get("stage"), dict):
                self._stages = [*self._stages, word["stage"]]


def verify_command(settings: Settings) -> list[str]:
    """What rehearses on this machine for the dashboard with these ``settings``."""
    return [
        *(sys.executable, "-P", "-m", "trainer", "verify", "--json"),
        f"--instance={settings.instance}",
    ]
