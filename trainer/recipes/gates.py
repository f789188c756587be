"""GO or NO-GO: what a trained model must reach before it is worth shipping, as rules that can be read.

A recipe declares its gates; their thresholds are parameters of the run, 0
leaves a condition out.  Whoever has the run's measures can judge them: the web
process for its page, the trainer to end a run that stays below its floors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

Kind = Literal["ship", "floor"]


class Verdict(StrEnum):
    """What is said of a gate, or of all of them."""

    GO = "go"
    NO_GO = "no-go"
    UNKNOWN = "unknown"  # not measured yet


@dataclass(frozen=True)
class Condition:
    """One measure against one threshold.

    Attributes:
        metric: name of the series, e.g. ``eval/recall@5``.
        threshold: name of the parameter that holds the threshold; 0 leaves the condition out.
        at_least: whether the measure must reach the threshold, or stay within it.
        unit: ``share`` is shown in percent, ``cosine`` and ``ms`` as they are.
    """

    metric: str
    threshold: str
    at_least: bool = True
    unit: Literal["share", "cosine", "ms"] = "share"


@dataclass(frozen=True)
class Gate:
    """What must hold; of several conditions one is enough.

    Attributes:
        name: the word in answers of the API.
        title: for a person.
        help: one sentence: what it means when it does not hold.
        conditions: one of them must hold.
        kind: a ``ship`` gate decides GO or NO-GO; a ``floor`` may end the run.
        optional: what was not measured does not stand in the way.
        switch: name of a parameter that must be on for the gate to be looked at; empty for always.
    """

    name: str
    title: str
    help: str
    conditions: tuple[Condition, ...]
    kind: Kind = "ship"
    optional: bool = False
    switch: str = ""


@dataclass(frozen=True)
class JudgedCondition:
    """A condition with what was measured; ``value`` is None when nothing was."""

    metric: str
    unit: str
    at_least: bool
    threshold: float
    value: float | None
    verdict: Verdict


@dataclass(frozen=True)
class JudgedGate:
    """A gate with its conditions and what follows from them."""

    gate: Gate
    conditions: tuple[JudgedCondition, ...]
    verdict: Verdict

    def in_words(self) -> str:
        """What is wrong, e.g. ``eval/recall@5 0.21 is below 0.3``; what was not measured is left out."""
        return " and ".join(
            f"{one.metric} {one.value:.3g} is {'below' if one.at_least else 'above'} {one.threshold:g}"
            for one in self.conditions
            if one.value is not None and one.verdict is Verdict.NO_GO
        )


def judge(
    gates: Sequence[Gate], params: Mapping[str, Any], values: Mapping[str, float | None]
) -> list[JudgedGate]:
    """Judge the gates that ``params`` leave in.

    Args:
        gates: in the order in which they are shown.
        params: the run's complete parameters, thresholds among them.
        values: measures by the name of their series; NaN counts as not measured.
    """
    judged = []
    for gate in gates:
        if gate.switch and not params.get(gate.switch):
            continue
        asked = [one for one in gate.conditions if params.get(one.threshold)]
        if asked:
            conditions = tuple(_judged(one, float(params[one.threshold]), values) for one in asked)
            judged.append(JudgedGate(gate, conditions, _any_of([one.verdict for one in conditions])))
    return judged


def overall(judged: Sequence[JudgedGate]) -> Verdict:
    """GO when every ship gate holds, NO-GO when one does not, unknown while something is not measured."""
    ship = [one for one in judged if one.gate.kind == "ship"]
    verdicts = [one.verdict for one in ship if one.verdict is not Verdict.UNKNOWN or not one.gate.optional]
    if Verdict.NO_GO in verdicts:
        return Verdict.NO_GO
    return Verdict.UNKNOWN if Verdict.UNKNOWN in verdicts or not verdicts else Verdict.GO


def _judged(condition: Condition, threshold: float, values: Mapping[str, float | None]) -> JudgedCondition:
    value = values.get(condition.metric)
    if value is None or math.isnan(value):
        value, verdict = None, Verdict.UNKNOWN
    else:
        holds = value >= threshold if condition.at_least else value <= threshold
        verdict = Verdict.GO if holds else Verdict.NO_GO
    return JudgedCondition(condition.metric, condition.unit, condition.at_least, threshold, value, verdict)


def _any_of(verdicts: Sequence[Verdict]) -> Verdict:
    if Verdict.GO in verdicts:
        return Verdict.GO
    return Verdict.UNKNOWN if Verdict.UNKNOWN in verdicts else Verdict.NO_GO
