"""Why a value was refused, in the words of a form: pydantic's messages without its own vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SHOWN_CHARACTERS: Final = 60
_SAID: Final = {
    "missing": "is required",
    "extra_forbidden": "there is no such key",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
}
_WITHOUT_VALUE: Final = ("missing", "extra_forbidden")


def refusal(error: Mapping[str, Any]) -> str:
    """One entry of ``ValidationError.errors()`` as a sentence, with the value that was refused."""
    kind = error["type"]
    words = _SAID.get(kind) or str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    if kind in _WITHOUT_VALUE:
        return words
    shown = repr(error.get("input"))
    return f"{words}, got {shown if len(shown) <= SHOWN_CHARACTERS else shown[:SHOWN_CHARACTERS] + '…'}"
