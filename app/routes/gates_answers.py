"""Shapes of ``GET /api/runs/ID/gates``."""

from __future__ import annotations

from typing import Literal

from app.routes.answers import Answer

Verdict = Literal["go", "no-go", "unknown"]


class GateConditionAnswer(Answer):
    """One measure against one threshold; a null was not measured."""

    metric: str
    unit: Literal["share", "cosine", "ms"]
    at_least: bool
    threshold: float
    newest: float | None
    best: float | None


class GateAnswer(Answer):
    """A gate: of several conditions one is enough."""

    name: str
    title: str
    help: str
    kind: Literal["ship", "floor"]
    optional: bool
    newest: Verdict
    best: Verdict
    conditions: list[GateConditionAnswer]


class GatesVerdictAnswer(Answer):
    """What all gates together say, and of which step."""

    verdict: Verdict
    step: int


class GatesAnswer(Answer):
    """GO or NO-GO by the newest measures and at the best checkpoint; null where nothing was measured."""

    run: str
    newest: GatesVerdictAnswer | None
    best: GatesVerdictAnswer | None
    gates: list[GateAnswer]
