"""Shapes of what preflight and rehearsal answer."""

from __future__ import annotations

from typing import Any

from app.routes.answers import Answer, CheckAnswer, DoctorReportAnswer


class PreflightAnswer(DoctorReportAnswer):
    """All checks of one run; ``outlook`` is what is foreseen of it, null when its dataset cannot be used."""

    outlook: dict[str, Any] | None


class StageAnswer(Answer):
    """A stage of a rehearsal: its name for scripts, and in words."""

    id: str
    title: str


class VerifyReportAnswer(Answer):
    """All stages judged; ``verdict`` is ``ok`` when every one passed."""

    stages: list[CheckAnswer]
    verdict: str
    took_s: float


class VerifyAnswer(Answer):
    """What runs, its stages so far, and the last report with its age; null when there is none."""

    running: bool
    cancelling: bool
    started_at: float | None
    order: list[StageAnswer]
    stages: list[CheckAnswer]
    trouble: str | None
    report: VerifyReportAnswer | None
    finished_at: float | None
    age_s: float | None
