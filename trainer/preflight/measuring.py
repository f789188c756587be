"""The same report after a smoke run, with what it has measured in place of estimates."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.examination import Findings
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question
from trainer.preflight.registry import GENERAL, MEASURED
from trainer.preflight.smoke import TITLE, smoke_run


def measure(question: Question, findings: Findings, *, environment: Mapping[str, str]) -> Findings:
    """Train a few real steps, unless it is clear already that the run cannot succeed; main thread only.

    ``environment`` are the user's own variables: no part of the question, which travels on command lines.
    """
    began = time.monotonic()
    if question.script and findings.verdict is not Verdict.PROBLEM:
        check = Check("smoke", TITLE, Verdict.NOTE, "Not tried: how long a script trains only it knows.")
        return replace(findings, checks=[*findings.checks, check])
    if findings.outlook is None or findings.verdict is Verdict.PROBLEM:
        check = Check("smoke", TITLE, Verdict.NOTE, "Not tried: what is wrong already comes first.")
        return replace(findings, checks=[*findings.checks, check])
    run = smoke_run(question, findings.outlook, environment=environment)
    took_s = findings.took_s + time.monotonic() - began
    if run.outlook is None:
        return replace(findings, checks=[*findings.checks, run.check], took_s=took_s)
    measured = Survey((), run.outlook)
    again = {
        check.id: check
        for suspicion in GENERAL
        if suspicion.id in MEASURED
        for check in suspicion.look(question, measured)
    }
    checks = [*(again.get(check.id, check) for check in findings.checks), run.check]
    return Findings(checks, run.outlook, took_s)
