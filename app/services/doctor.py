"""The doctor's page: starts an examination in a process of its own, keeps the last report, ends leftovers.

The examination is ``python -m trainer doctor --json``; nothing of it is loaded
here.  Looking for leftover processes needs no training library and is done
right here, at the moment they are to be ended.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from app.config import Settings
from app.services.side_examination import KeptReport, SideExamination
from trainer.environment.doctor.leftover_processes import end, find
from trainer.environment.doctor.leftovers import judge

REPORT: Final = "doctor.json"
LIMIT_S: Final = 120.0  # every probe has a limit of its own; this one is for the doctor itself
MAX_GRACE_S: Final = 10.0  # somebody waits for the answer
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
        make_command = command or doctor_command
        self._settings = settings
        self._kept = KeptReport(settings.instance / REPORT, main_list="checks")
        self._examination = SideExamination(
            "The doctor", command=lambda: make_command(settings), kept=self._kept, limit_s=limit_s
        )

    def start(self) -> None:
        """From now on examinations can be started."""
        self._examination.start()

    def close(self) -> None:
        """End a running examination, and start no other."""
        self._examination.close()

    def examine(self) -> dict[str, Any]:
        """Start an examination unless one is running, and tell the status.

        Raises:
            Conflict: the server is starting or ending.
            Unavailable: no process can be started now.
        """
        self._examination.launch()
        return self.status()

    def status(self) -> dict[str, Any]:
        """Whether one is running, why the newest has no report, the last report, and its age in seconds."""
        status = self._examination.status()
        del status["cancelling"]  # an examination is short: nobody can cancel it
        return status

    def end_leftovers(self, wanted: Iterable[tuple[int, float]]) -> list[dict[str, Any]]:
        """End those of ``wanted`` (pid, creation time) that prove to be leftovers of this instance again.

        The stored report then tells what is left.
        """
        runs_dir = self._settings.runs_dir
        grace_s = min(MAX_GRACE_S, self._settings.stop_grace_s)
        ended = end(wanted, runs_dir=runs_dir, grace_s=grace_s)
        for one in ended:
            log.warning("leftover process %d: %s", one.pid, one.outcome)
        report = self._kept.read()
        if report is not None:
            self._kept.write(_renewed(report, judge(find(runs_dir)).to_json()))
        return [one.to_json() for one in ended]


def doctor_command(settings: Settings) -> list[str]:
    """What examines this machine for the dashboard with these ``settings``."""
    place = ["--instance", str(settings.instance), "--host", settings.host, "--port", str(settings.port)]
    return [sys.executable, "-P", "-m", "trainer", "doctor", "--json", *place]


def _renewed(report: dict[str, Any], leftovers: dict[str, Any]) -> dict[str, Any]:
    """The report with the check of the leftovers replaced."""
    checks = [leftovers if one.get("id") == leftovers["id"] else one for one in report["checks"]]
    found = {one.get("verdict") for one in checks}
    verdict = next((one for one in reversed(VERDICTS) if one in found), "ok")
    return {**report, "checks": checks, "verdict": verdict}
