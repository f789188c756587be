"""From a script and the values somebody chose to the argument vector, without any shell."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.scripts.declaration import EVERYTHING, PYTHON, Script, ScriptError, ScriptParameter
from trainer.scripts.safety import check_program
from trainer.scripts.template import all_names, filled, names_in

STARTER: Final = Path(__file__).with_name("starter.py")
_IS_PYTHON: Final = re.compile(r"python[0-9.]*(\.exe)?")


@dataclass(frozen=True)
class Circumstances:
    """What one launch is told beside the parameters.

    Attributes:
        run_dir: folder of the run.
        attempt: number of the launch, from 1.
        dataset: path of the file to train on; empty without one.
        checkpoint: the script's own checkpoint to go on from; empty for a beginning.
        stacks: where a Python script's stacks are written on request.
    """

    run_dir: str
    attempt: int
    dataset: str = ""
    checkpoint: str = ""
    stacks: str = ""


def argument_vector(script: Script, params: Mapping[str, Any], given: Circumstances) -> list[str]:
    """The command that starts ``script``; ``params`` are complete and valid.

    Raises:
        ScriptError: its interpreter is not there.
    """
    program = interpreter(script)
    words = _words(script, params, given)
    if script.resuming is not None and given.checkpoint:
        values = _values(script, params, given)
        words += [filled(word, values) for word in script.resuming.arguments]
    if _IS_PYTHON.fullmatch(Path(program).name):
        flags = ["-u", "-X", "faulthandler"]
        return [program, *flags, str(STARTER), given.stacks, str(script.program), *words]
    return [program, str(script.program), *words]


def interpreter(script: Script) -> str:
    """The program that runs the entry file.

    Raises:
        ScriptError: it is not there, or others may change it.
    """
    named, place = script.interpreter, f"{script.file}: interpreter"
    if named == PYTHON:
        return sys.executable
    path = Path(named)
    if "/" not in named:
        found = shutil.which(named)
        if found is None:
            raise ScriptError(
                place, f"there is no program {named!r} on the PATH", "install it, or write its absolute path"
            )
        path = Path(found)
    elif not path.is_absolute():
        path = script.folder / path
    check_program(path, place=place)
    return str(path)


def working_directory(script: Script, *, run_dir: Path) -> Path:
    """Where the script is started."""
    return run_dir if script.working_directory == "run" else script.folder


def newest_checkpoint(script: Script, *, run_dir: Path, since: float) -> str:
    """The newest of the script's own checkpoints that was written at ``since`` (Unix seconds) or later.

    An earlier one in a shared working directory belongs to another run.
    Empty when there is none, or when the script does not say how it goes on.
    """
    if script.resuming is None:
        return ""
    root, pattern = working_directory(script, run_dir=run_dir), script.resuming.checkpoint
    for name in ("run_dir", "script_dir"):
        if pattern.startswith(f"{{{name}}}/"):
            root, pattern = (run_dir if name == "run_dir" else script.folder), pattern.partition("/")[2]
    if pattern.startswith("{checkpoints}/"):
        root, pattern = run_dir / "checkpoints", pattern.partition("/")[2]
    found = [(path.stat().st_mtime, str(path)) for path in root.glob(pattern) if path.exists()]
    return max(((when, path) for when, path in found if when >= since), default=(0.0, ""))[1]


def _words(script: Script, params: Mapping[str, Any], given: Circumstances) -> list[str]:
    if script.arguments is None:
        words = _options(script, params, but=set())
        wants_file = given.dataset and script.dataset != "none"
        return words + ([script.dataset_flag, given.dataset] if wants_file else [])
    values = _values(script, params, given)
    named = all_names(script.arguments)
    words = []
    for argument in script.arguments:
        if argument == f"{{{EVERYTHING}}}":
            words += _options(script, params, but=named)
        elif isinstance(argument, str):
            words.append(filled(argument, values))
        elif all(values[name] for word in argument for name in names_in(word)):
            words += [filled(word, values) for word in argument]
    return words


def _options(script: Script, params: Mapping[str, Any], *, but: set[str]) -> list[str]:
    """Every parameter as ``--name value``; a switch is there or not."""
    words: list[str] = []
    for name, parameter in script.parameters.items():
        if name in but:
            continue
        if parameter.kind == "bool":
            words += [parameter.flag] if params[name] else []
        elif params[name] != "":
            words += [parameter.flag, _shown(parameter, params[name])]
    return words


def _values(script: Script, params: Mapping[str, Any], given: Circumstances) -> dict[str, str]:
    values = {name: _shown(parameter, params[name]) for name, parameter in script.parameters.items()}
    return {
        **values,
        "run_dir": given.run_dir,
        "checkpoints": str(Path(given.run_dir) / "checkpoints"),
        "script_dir": str(script.folder),
        "dataset": given.dataset,
        "attempt": str(given.attempt),
        "checkpoint": given.checkpoint,
    }


def _shown(parameter: ScriptParameter, value: object) -> str:
    if parameter.kind == "bool":
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
