"""Everything that can be told of a run before it starts, as one report."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from trainer.environment.doctor.check import Check, Verdict, worst
from trainer.preflight import device
from trainer.preflight.asking import Answers, ask_light_checks
from trainer.preflight.outlook import Outlook, Survey
from trainer.preflight.question import Question
from trainer.preflight.registry import GENERAL, MEASURED
from trainer.preflight.smoke import smoke_run


def examine(question: Question, *, smoke: bool = False) -> dict[str, Any]:
    """Look at everything: ``{"checks", "verdict", "took_s", "outlook"}``.

    Args:
        question: the run somebody wants.
        smoke: also train a few real steps, unless it is clear already that the run cannot succeed; then
            the caller must be the main thread.
    """
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(device.ask_torch, question) if device.could_accelerate(question) else None
        answers = ask_light_checks(question)
        told = asked.result() if asked is not None else None
    checks = [*answers.checks, device.judge(question, answers.outlook, told)]
    outlook = answers.outlook
    if smoke:
        checks, outlook = _with_smoke(question, checks, answers)
    return {
        "checks": [check.to_json() for check in checks],
        "verdict": worst(check.verdict for check in checks).value,
        "took_s": round(time.monotonic() - began, 2),
        "outlook": None if outlook is None else outlook.to_json(),
    }


def _with_smoke(
    question: Question, checks: list[Check], answers: Answers
) -> tuple[list[Check], Outlook | None]:
    """The checks with the smoke run's, and with those told again that it has measured."""
    outlook = answers.outlook
    if outlook is None or worst(check.verdict for check in checks) is Verdict.PROBLEM:
        found = "Not tried: what is wrong already comes first."
        return [*checks, Check("smoke", "Smoke run", Verdict.NOTE, found)], outlook
    run = smoke_run(question, outlook)
    if run.outlook is None:
        return [*checks, run.check], outlook
    measured = Survey((), run.outlook)
    again = {
        check.id: check
        for suspicion in GENERAL
        if suspicion.id in MEASURED
        for check in suspicion.look(question, measured)
    }
    return [*(again.get(check.id, check) for check in checks), run.check], run.outlook
