"""What can be told of a run before it starts, as one report; as light as a supervisor: no numpy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from trainer.environment.doctor.check import Check, Verdict, worst
from trainer.preflight import device
from trainer.preflight.asking import ask_light_checks
from trainer.preflight.outlook import Outlook
from trainer.preflight.question import Question


@dataclass(frozen=True)
class Findings:
    """What was looked at, and what the recipe foresees; None when its dataset cannot be used."""

    checks: Sequence[Check]
    outlook: Outlook | None
    took_s: float

    @property
    def verdict(self) -> Verdict:
        """The worst of all."""
        return worst(check.verdict for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """``{"checks", "verdict", "took_s", "outlook"}``."""
        return {
            "checks": [check.to_json() for check in self.checks],
            "verdict": self.verdict.value,
            "took_s": round(self.took_s, 2),
            "outlook": None if self.outlook is None else self.outlook.to_json(),
        }


def examine(question: Question) -> Findings:
    """Look at everything that can be told without training."""
    began = time.monotonic()
    if question.script:  # the device is the script's own affair
        answers = ask_light_checks(question)
        return Findings(answers.checks, answers.outlook, time.monotonic() - began)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(device.ask_torch, question) if device.could_accelerate(question) else None
        answers = ask_light_checks(question)
        told = asked.result() if asked is not None else None
    checks = [*answers.checks, device.judge(question, answers.outlook, told)]
    return Findings(checks, answers.outlook, time.monotonic() - began)
