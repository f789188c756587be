"""What can be told of a script's run before it starts: that it is there, is its owner's, and can be read."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.declaration import RecipePreflight
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question
from trainer.scripts.arguments import interpreter
from trainer.scripts.declaration import Script, ScriptError
from trainer.scripts.output import output_settings
from trainer.scripts.reading import load_script

MOST_BYTES = 4 * 1024 * 1024


def survey(question: Question) -> Survey:
    """Look at the script; what it will train, and for how long, only the script knows."""
    try:
        script = load_script(Path(question.script))
        program = interpreter(script)
        output_settings(script)
    except ScriptError as exc:
        found = f"{exc.place}: {exc.message}."
        return Survey((Check("script", "Script", Verdict.PROBLEM, found, f"{exc.remedy}."),), None)
    how = f"{script.program} runs under {program} in {_place(script)}."
    checks = [Check("script", "Script", Verdict.OK, how), *_syntax(script)]
    return Survey(tuple(checks), None)


def _smoke(params: Mapping[str, Any], num_steps: int) -> dict[str, Any]:
    """A script's length is its own affair: it is never tried for a few steps."""
    return dict(params)


def _place(script: Script) -> str:
    return "its own folder" if script.working_directory == "script" else "the folder of the run"


def _syntax(script: Script) -> list[Check]:
    """Whether a Python script can be parsed; nothing of it is run."""
    if script.program.suffix != ".py" or script.program.stat().st_size > MOST_BYTES:
        return []
    try:
        ast.parse(script.program.read_bytes(), filename=str(script.program))
    except (SyntaxError, ValueError) as exc:
        line = getattr(exc, "lineno", None)
        where = f"{script.entry}{f', line {line}' if line else ''}"
        verdict = Verdict.PROBLEM if script.interpreter == "python" else Verdict.WARNING
        found = f"{where}: {getattr(exc, 'msg', exc)}."
        return [Check("script_syntax", "Syntax", verdict, found, "Correct that line.")]
    return [Check("script_syntax", "Syntax", Verdict.OK, f"{script.entry} can be parsed.")]


PREFLIGHT = RecipePreflight(survey=survey, suspicions=(), smoke=_smoke)
