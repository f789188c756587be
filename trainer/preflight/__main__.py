"""The light checks in one process: ``python -m trainer.preflight QUESTION SKIP LIMIT_S``.

One JSON line per word on standard output: first the order of what will be
looked at, then each answer when it is there.  Whoever reads them knows which
check was at work when this process died or hung, and asks another one to
``SKIP`` it and everything before it.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import signal
import sys
from typing import IO, Any

from trainer.preflight.declaration import Suspicion, preflight_of
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question
from trainer.preflight.registry import GENERAL

SPARE_S = 1.0  # the stacks are written this long before the limit
ALARM_S = 5  # and this long after it the kernel ends this process, should its reader be gone
SURVEY = ("dataset", "Dataset")


def main(arguments: list[str]) -> None:
    """Survey the dataset, then look at every suspicion that is not to be skipped."""
    text, skip, limit_s = arguments[0], int(arguments[1]), float(arguments[2])
    signal.alarm(math.ceil(limit_s) + ALARM_S)
    faulthandler.enable()
    faulthandler.dump_traceback_later(max(0.1, limit_s - SPARE_S))
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        _answer(Question.from_text(text), skip, out)
    faulthandler.cancel_dump_traceback_later()


def _answer(question: Question, skip: int, out: IO[str]) -> None:
    declared = preflight_of(question.declaration)
    suspicions: list[Suspicion] = [*GENERAL, *declared.suspicions]
    order = [SURVEY, *((one.id, one.title) for one in suspicions)]
    _say(out, {"order": order})
    survey = declared.survey(question)
    if skip == 0:
        outlook = None if survey.outlook is None else survey.outlook.to_json()
        _say(out, {"checks": [check.to_json() for check in survey.checks], "outlook": outlook})
    for number, suspicion in enumerate(suspicions, start=1):
        if number >= skip:
            _say(out, {"checks": _look(suspicion, question, survey)})


def _look(suspicion: Suspicion, question: Question, survey: Survey) -> list[dict[str, Any]]:
    if survey.outlook is None:
        return []
    return [check.to_json() for check in suspicion.look(question, survey)]


def _say(out: IO[str], word: dict[str, Any]) -> None:
    print(json.dumps(word), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
