"""The user's own variables: what may be set, and what a user should know about what they set.

Refused is only what would break supervision or the promise that a run can be
explained; everything else is the user's business, with a word of warning where
it is known to do harm or nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trainer.environment import loader
from trainer.environment.secrets import HIDDEN, is_secret
from trainer.environment.variables import Variable

MAX_VARIABLES: Final = 64
MAX_NAME: Final = 128
MAX_VALUE: Final = 8192
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_FORBIDDEN: Final[dict[str, str]] = {
    "PYTHONPATH": "without its own path the trainer is not found",
    "PYTHONHOME": "with another home the interpreter does not find its own library",
    "PYTHONSAFEPATH": "files of the run folder would become code",
    "PYTHONINSPECT": "the interpreter would wait for a person instead of ending",
    "PYTHONUNBUFFERED": "the last lines before a crash would be lost",
    "PYTHONFAULTHANDLER": "a native crash would leave no traceback",
    "PYTHONIOENCODING": "the log is read as UTF-8",
    "PYTHONEXECUTABLE": "Signalbox would supervise another program than it started",
    "LD_PRELOAD": "it puts foreign code into the trainer before anything can be reported",
    "LD_AUDIT": "it puts foreign code into the trainer before anything can be reported",
    "DYLD_INSERT_LIBRARIES": "it puts foreign code into the trainer before anything can be reported",
    "DYLD_FORCE_FLAT_NAMESPACE": "libraries would answer each other's calls",
}
_NOTHING: Final[dict[str, str]] = {
    "FAISS_NUM_THREADS": "faiss reads no such variable; OMP_NUM_THREADS is the one it takes",
    "PYTORCH_NO_FORK": "torch reads no such variable",
    "PYTORCH_ENABLE_MPS": "torch reads no such variable; the parameter 'device' chooses MPS",
}
_THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


class OverrideError(ValueError):
    """A variable may not be set, or not so.

    Attributes:
        name: the variable; empty when the whole set is wrong.
        message: what is wrong, for a person.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}" if name else message)
        self.name = name
        self.message = message


@dataclass(frozen=True)
class OverrideWarning:
    """What a user should know about a variable that they may set nevertheless."""

    name: str
    message: str


def check_overrides(overrides: Mapping[str, object]) -> dict[str, str]:
    """Return the user's variables as they are stored.

    Raises:
        OverrideError: names the first variable that may not be set, or not to its value.
    """
    if len(overrides) > MAX_VARIABLES:
        raise OverrideError("", f"at most {MAX_VARIABLES} variables may be set, got {len(overrides)}")
    checked: dict[str, str] = {}
    for name, value in overrides.items():
        _check_name(name)
        checked[name] = _checked_value(name, value)
    try:
        loader.read_loader(checked)
    except loader.LoaderError as exc:
        raise OverrideError(exc.name, exc.message) from exc
    return checked


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise OverrideError(
            name[:MAX_NAME],
            f"a name has letters, digits and underscores, no digit in front, and at most {MAX_NAME} of them",
        )
    known = name.upper()  # Windows does not tell them apart
    if known in _FORBIDDEN:
        raise OverrideError(name, f"cannot be set: {_FORBIDDEN[known]}")
    if known.startswith("SIGNALBOX_") and name not in loader.NAMES:
        raise OverrideError(
            name, f"cannot be set: Signalbox itself needs its names; of them {', '.join(loader.NAMES)} may be"
        )


def _checked_value(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise OverrideError(name, "a value is text")
    if "\0" in value:
        raise OverrideError(name, "a value cannot hold the character NUL")
    if len(value) > MAX_VALUE:
        raise OverrideError(name, f"a value has at most {MAX_VALUE} characters, this one {len(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise OverrideError(name, "a value must be text that UTF-8 can carry") from None
    if value == HIDDEN and is_secret(name):
        raise OverrideError(name, "this is what is shown in place of the secret; enter the secret itself")
    return value


def override_warnings(overrides: Mapping[str, str], variables: list[Variable]) -> list[OverrideWarning]:
    """What the user should know about their variables.

    Args:
        overrides: the user's variables, checked.
        variables: the whole environment they lead to.
    """
    environ = {variable.name: variable.value for variable in variables}
    found = [OverrideWarning(name, _NOTHING[name]) for name in overrides if name in _NOTHING]
    if _is_true(overrides.get("KMP_DUPLICATE_LIB_OK", "")):
        found.append(
            OverrideWarning(
                "KMP_DUPLICATE_LIB_OK",
                "unsafe: the runtime itself says that it may crash or silently produce incorrect results",
            )
        )
    if _is_zero(overrides.get("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "")):
        found.append(
            OverrideWarning(
                "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
                "0.0 takes away the memory limit of MPS: the whole system may fail; to lower it set 0.9, "
                "and PYTORCH_MPS_LOW_WATERMARK_RATIO to 0.8",
            )
        )
    counts = {environ.get(name) for name in _THREADS}
    if len(counts) > 1:
        told = " and ".join(f"{name}={environ.get(name, 'unset')}" for name in _THREADS)
        found += [
            OverrideWarning(name, f"{told} differ: where torch uses MKL, MKL's number rules everywhere")
            for name in _THREADS
            if name in overrides
        ]
    return found


def _is_true(value: str) -> bool:
    return value.strip().lower() in ("true", "1", "yes", "on", "t")


def _is_zero(value: str) -> bool:
    try:
        return float(value) == 0.0
    except ValueError:
        return False
