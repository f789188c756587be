"""The tables ``[parameters.NAME]`` of a ``script.toml``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from trainer.scripts.declaration import EVERYTHING, PLACES, ScriptError, ScriptParameter

KINDS: Final = ("int", "float", "bool", "str", "choice")
MAX_PARAMETERS: Final = 200
MAX_VALUE: Final = 4096
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_FLAG: Final = re.compile(r"-{1,2}[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_TEXTS: Final = ("help", "group", "unit", "pattern", "flag")
_KEYS: Final = ("type", "default", "minimum", "maximum", "choices", "advanced", *_TEXTS)
_LIMITS: Final = ("minimum", "maximum")
_OF_NUMBERS: Final = (*_LIMITS, "unit")
_TAKEN: Final = (*PLACES, EVERYTHING)


def read_parameters(tables: object, *, file: str) -> dict[str, ScriptParameter]:
    """The parameters in the order of the file.

    Raises:
        ScriptError: names the key.
    """
    if not isinstance(tables, dict):
        raise ScriptError(f"{file}: parameters", "must hold tables", "write [parameters.NAME] above the keys")
    if len(tables) > MAX_PARAMETERS:
        raise ScriptError(
            f"{file}: parameters", f"are more than {MAX_PARAMETERS}", "keep those people change"
        )
    return {name: _read(name, table, place=f"{file}: parameters.{name}") for name, table in tables.items()}


def trouble_with_text(value: str, *, pattern: str = "") -> str | None:
    """Why ``value`` cannot be given to a script as an argument, in words; None when it can."""
    if len(value) > MAX_VALUE:
        return f"must have at most {MAX_VALUE} characters"
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        return "must not hold control characters or line breaks"
    if value.startswith("-"):
        return "must not begin with '-': the script would take it for an option"
    if pattern and not re.fullmatch(pattern, value):
        return f"must match {pattern}"
    return None


def _read(name: str, table: object, *, place: str) -> ScriptParameter:
    if not _NAME.fullmatch(name) or name in _TAKEN:
        rule = f"it must not be {', '.join(_TAKEN)}" if name in _TAKEN else "use letters, digits and _"
        raise ScriptError(place, "cannot be a parameter's name", rule)
    if not isinstance(table, dict):
        raise ScriptError(place, "must be a table", f"write [parameters.{name}] above its keys")
    for key in table:
        if key not in _KEYS:
            raise ScriptError(f"{place}.{key}", "there is no such key", f"there are {', '.join(_KEYS)}")
    kind = table.get("type", "choice" if "choices" in table else _kind_of(table.get("default")))
    if kind not in KINDS:
        raise ScriptError(f"{place}.type", f"cannot be {kind!r}", f"write one of {', '.join(KINDS)}")
    texts: dict[str, Any] = {key: _text(table[key], place=f"{place}.{key}") for key in _TEXTS if key in table}
    for key in _OF_NUMBERS:
        if key in table and kind not in ("int", "float"):
            raise ScriptError(f"{place}.{key}", f"says nothing of a {kind}", "remove it")
    limits: dict[str, Any] = {
        key: _number(table[key], place=f"{place}.{key}") for key in _LIMITS if key in table
    }
    parameter = ScriptParameter(
        name,
        kind,
        default=None,
        choices=_choices(table.get("choices"), kind=kind, place=f"{place}.choices"),
        advanced=_switch(table.get("advanced", False), place=f"{place}.advanced"),
        **limits,
        **{"flag": f"--{name}", **texts},
    )
    _check(parameter, place=place)
    return _with_default(parameter, table, place=place)


def _kind_of(default: object) -> str:
    """What a parameter is of which only the default is known."""
    kinds = {bool: "bool", int: "int", float: "float"}
    return kinds.get(type(default), "str")


def _check(parameter: ScriptParameter, *, place: str) -> None:
    if not _FLAG.fullmatch(parameter.flag):
        raise ScriptError(f"{place}.flag", f"{parameter.flag!r} is no option", 'write for example "--lr"')
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None and low > high:
        raise ScriptError(f"{place}.minimum", f"{low:g} is above the maximum {high:g}", "swap them")
    if parameter.pattern and parameter.kind != "str":
        raise ScriptError(f"{place}.pattern", f"says nothing of a {parameter.kind}", "remove it")
    try:
        re.compile(parameter.pattern)
    except re.error as exc:
        raise ScriptError(
            f"{place}.pattern", f"is no regular expression: {exc}", "correct it; in TOML use '…' around it"
        ) from exc


def _with_default(parameter: ScriptParameter, table: Mapping[str, Any], *, place: str) -> ScriptParameter:
    if "default" not in table:
        raise ScriptError(f"{place}.default", "is missing", "say what holds when nobody chooses")
    default = table["default"]
    if parameter.kind == "choice" and isinstance(default, (int, float)) and not isinstance(default, bool):
        default = str(default)
    if parameter.kind == "float" and isinstance(default, int) and not isinstance(default, bool):
        default = float(default)
    trouble = trouble_with(parameter, default)
    if trouble:
        raise ScriptError(f"{place}.default", f"{trouble}, it is {default!r}", "make it an allowed value")
    return ScriptParameter(**{**vars(parameter), "default": default})


def trouble_with(parameter: ScriptParameter, value: object) -> str | None:
    """Why ``value`` is not allowed, in words; None when it is."""
    types: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str, "choice": str}
    wanted = types[parameter.kind]
    if not isinstance(value, wanted) or (isinstance(value, bool) and parameter.kind != "bool"):
        return f"must be a {parameter.kind}"
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            return "must be a finite number"
        low, high = parameter.minimum, parameter.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            return "must lie between minimum and maximum"
    if parameter.kind == "choice" and value not in parameter.choices:
        return "must be one of the choices"
    return trouble_with_text(value, pattern=parameter.pattern) if isinstance(value, str) else None


def _choices(value: object, *, kind: str, place: str) -> tuple[str, ...]:
    if kind != "choice":
        if value is not None:
            raise ScriptError(place, f"says nothing of a {kind}", 'write type = "choice", or remove it')
        return ()
    is_list = isinstance(value, list) and value
    if not isinstance(value, list) or not is_list or not all(type(one) in (str, int, float) for one in value):
        raise ScriptError(place, "must be a list of words or numbers", 'write for example ["small", "large"]')
    words = tuple(str(one) for one in value)
    for word in words:
        trouble = trouble_with_text(word)
        if trouble or not word:
            raise ScriptError(place, f"{word!r} {trouble or 'must not be empty'}", "choose another word")
    if len(set(words)) != len(words):
        raise ScriptError(place, "names a word twice", "keep one of them")
    return words


def _text(value: object, *, place: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_VALUE:
        raise ScriptError(place, f"must be text of at most {MAX_VALUE} characters", 'write it in quotes: "…"')
    return value.strip()


def _number(value: object, *, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ScriptError(place, "must be a number", "write it without quotes")
    return value


def _switch(value: object, *, place: str) -> bool:
    if not isinstance(value, bool):
        raise ScriptError(place, "must be true or false", "write it without quotes")
    return value
