"""A recipe's declaration whose suspicions come to grief; used by the tests of the preflight."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

from tests.trainer.preflight.questions import outlook
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.declaration import RecipePreflight, Suspicion
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question


def _survey(question: Question) -> Survey:
    if question.dataset == "kills":
        os.kill(os.getpid(), signal.SIGSEGV)
    return Survey((Check("dataset", "Dataset", Verdict.OK, "read"),), outlook(step_flop=0.0))


def _crash(question: Question, known: Survey) -> list[Check]:
    os.kill(os.getpid(), signal.SIGSEGV)
    return []


def _hang(question: Question, known: Survey) -> list[Check]:
    if question.dataset == "hangs":
        time.sleep(600)
    return [Check("hangs", "Hangs", Verdict.OK, "not this time")]


def _fine(question: Question, known: Survey) -> list[Check]:
    sys.stdout.write("printed by a library\n")
    return [Check("fine", "Fine", Verdict.OK, "reached")]


def _smoke(params: Mapping[str, Any], num_steps: int) -> dict[str, Any]:
    return dict(params)


BROKEN = RecipePreflight(
    _survey,
    (
        Suspicion("crashes", "Crashes", _crash),
        Suspicion("hangs", "Hangs", _hang),
        Suspicion("fine", "Fine", _fine),
    ),
    _smoke,
)
