"""Asks the process of the light checks, and goes on behind one that crashes or hangs."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from trainer.environment.build import build
from trainer.environment.cores import usable_cores
from trainer.environment.doctor.check import Check
from trainer.environment.doctor.child import Outcome, ask, failure
from trainer.environment.variables import as_environ
from trainer.preflight.outlook import Outlook
from trainer.preflight.question import Question

LIMIT_S: Final = 30.0
MOST_DEATHS: Final = 3


@dataclass
class Answers:
    """What the light checks have said, in their order, and what the recipe foresees."""

    checks: list[Check] = field(default_factory=list)
    outlook: Outlook | None = None


def ask_light_checks(
    question: Question, *, limit_s: float = LIMIT_S, environ: Mapping[str, str] | None = None
) -> Answers:
    """Run them; each death is a finding, and the checks behind it are asked again in another process.

    Args:
        question: the run somebody wants.
        limit_s: seconds one process may take.
        environ: where the allowed variables are looked up; None stands for this process's own.
    """
    answers, skip = Answers(), 0
    for _ in range(MOST_DEATHS):
        outcome = _ask(question, skip, limit_s, os.environ if environ is None else environ)
        order, words = _parse(outcome.answer)
        for word in words:
            answers.checks += [Check.from_json(fields) for fields in word["checks"]]
            if word.get("outlook") is not None:
                answers.outlook = Outlook.from_json(word["outlook"])
        done = skip + len(words)
        if outcome.code == 0:
            break
        name, title = order[done] if done < len(order) else ("preflight", "Preflight")
        answers.checks.append(failure(name, title, outcome, limit_s=limit_s))
        skip = done + 1
        if not order or done == 0:
            break
    return answers


def _ask(question: Question, skip: int, limit_s: float, environ: Mapping[str, str]) -> Outcome:
    variables = build(device="cpu", physical_cores=usable_cores(), inherited=environ)
    command = [sys.executable, "-u", "-X", "faulthandler", "-P", "-m", "trainer.preflight"]
    arguments = [question.to_text(), str(skip), str(limit_s)]
    return ask([*command, *arguments], environ=as_environ(variables), limit_s=limit_s)


def _parse(answer: bytes) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    """The order of the checks, and the whole words after it; a torn last line is left out."""
    lines: list[dict[str, Any]] = []
    for raw in answer.splitlines():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(raw))
    if not lines or "order" not in lines[0]:
        return [], []
    return [(str(name), str(title)) for name, title in lines[0]["order"]], lines[1:]
