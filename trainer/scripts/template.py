"""Placeholders in arguments: ``{name}`` is a value, ``{{`` and ``}}`` are braces; nothing else is special.

No shell ever sees an argument: each stays one entry of the argument vector,
whatever characters a value holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from trainer.scripts.declaration import EVERYTHING, PLACES, Argument, ScriptError

MAX_ARGUMENTS: Final = 500
_PIECE: Final = re.compile(r"\{\{|\}\}|\{([A-Za-z][A-Za-z0-9_]*)\}|[{}]")


def read_arguments(
    value: object,
    parameters: Mapping[str, Any],
    *,
    place: str,
    without: set[str],
    may_group: bool = False,
) -> tuple[Argument, ...]:
    """The list ``value`` of a declaration; entries may be lists themselves where ``may_group`` says so.

    Args:
        value: as the file has it.
        parameters: those a placeholder may name.
        place: the key, for messages.
        without: places that mean nothing here.
        may_group: whether an entry may be a list, which is left out when a placeholder in it is empty.
    Raises:
        ScriptError: names the key and the entry.
    """
    if not isinstance(value, list) or len(value) > MAX_ARGUMENTS:
        raise ScriptError(place, "must be a list of words", 'write for example ["--epochs", "{epochs}"]')
    known = [*parameters, *(one for one in PLACES if one not in without), EVERYTHING]
    found: list[Argument] = []
    for number, entry in enumerate(value, start=1):
        where = f"{place}[{number}]"
        if may_group and isinstance(entry, list):
            found.append(tuple(_checked(word, known, place=where) for word in entry))
        else:
            found.append(_checked(entry, known, place=where))
    return tuple(found)


def names_in(text: str) -> set[str]:
    """The placeholders of one argument."""
    return {match[1] for match in _PIECE.finditer(text) if match[1]}


def filled(text: str, values: Mapping[str, str]) -> str:
    """``text`` with its placeholders replaced; every one must have a value."""
    return _PIECE.sub(lambda match: values[match[1]] if match[1] else match[0][0], text)


def all_names(arguments: Iterable[Argument]) -> set[str]:
    """The placeholders of all ``arguments``."""
    words: list[str] = []
    for argument in arguments:
        words += [argument] if isinstance(argument, str) else list(argument)
    return {name for word in words for name in names_in(word)}


def _checked(entry: object, known: Sequence[str], *, place: str) -> str:
    if isinstance(entry, (int, float)) and not isinstance(entry, bool):
        entry = str(entry)
    if not isinstance(entry, str) or "\0" in entry:
        raise ScriptError(place, "must be a word", 'write it in quotes: "…"')
    for match in _PIECE.finditer(entry):
        if match[0] in ("{", "}"):
            raise ScriptError(place, f"{entry!r} holds a single brace", "write {{ or }} for a brace itself")
        if match[1] and match[1] not in known:
            raise ScriptError(
                place, f"there is nothing called {{{match[1]}}}", f"there are {', '.join(known)}"
            )
    if EVERYTHING in names_in(entry) and entry != f"{{{EVERYTHING}}}":
        raise ScriptError(place, f"{{{EVERYTHING}}} must stand alone", "make it an entry of its own")
    return entry
