"""The labelled logs in ``tests/fixtures/logs``: ``CAUSE/NAME[.rcN][.PLATFORM][.stopped].log``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence, exit_of
from trainer.diagnosis.log_text import read_log

LOGS = Path(__file__).resolve().parents[2] / "fixtures" / "logs"


@dataclass(frozen=True)
class Labelled:
    """A log and why its run died; the label of those that did not is ``healthy``."""

    path: Path

    @property
    def label(self) -> str:
        return self.path.parent.name

    def named(self) -> str:
        """The id of the first finding, or ``healthy``."""
        parts = self.path.name.split(".")
        platform = next((part for part in parts if part in ("darwin", "windows")), "linux")
        status = re.search(r"\.rc(-?\d+)\.", self.path.name)
        code, number = exit_of(int(status.group(1)) if status else None, platform=platform)
        evidence = Evidence(
            log=read_log(self.path),
            exit_code=code,
            signal=number,
            stop_requested="stopped" in parts,
            platform=platform,
        )
        findings = diagnose(evidence)
        return findings[0].id if findings else "healthy"


def labelled_logs() -> list[Labelled]:
    """All of them."""
    return [Labelled(path) for path in sorted(LOGS.glob("*/*.log"))]
