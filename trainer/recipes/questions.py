"""What a trained model can be asked: the fields of a recipe's question, declared without its libraries.

The form on the page, the command line and the process that answers all take
a question through :func:`checked`, so nothing untyped or boundless reaches a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

MOST_CHARACTERS: Final = 8192


class QuestionError(ValueError):
    """A question cannot be put, or not answered.

    Attributes:
        field: which part of it is wrong; empty when it is the whole.
        message: what is wrong and what helps, for a person.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


@dataclass(frozen=True)
class QuestionField:
    """One thing that a question holds; the first field of a recipe is what the box on the page takes.

    Attributes:
        name: the key in the question, e.g. ``query``.
        title: the label, e.g. ``Find``.
        help: one sentence: what it does.
        type: ``text`` (several lines), ``line``, ``int``, ``float``, ``bool`` or ``choice``.
        default: what it is when nobody says; None when it must be given.
        minimum: lowest allowed number.
        maximum: highest allowed number.
        choices: what a choice can be.
        most_characters: of a text or a line.
    """

    name: str
    title: str
    help: str = ""
    type: Literal["text", "line", "int", "float", "bool", "choice"] = "text"
    default: str | int | float | bool | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    most_characters: int = MOST_CHARACTERS

    def to_json(self) -> dict[str, Any]:
        """The field as the page draws it."""
        return asdict(self)


PLAIN_TEXT: Final = (QuestionField("text", "Text", "What the model is asked."),)


def checked(fields: Sequence[QuestionField], given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` complete and typed as ``fields`` declare.

    Raises:
        QuestionError: names the first part that is unknown, missing, or out of bounds.
    """
    known = {field.name: field for field in fields}
    for name in given:
        if name not in known:
            raise QuestionError(str(name), f"a question here has no such part; it has {', '.join(known)}")
    return {name: _value(field, given.get(name)) for name, field in known.items()}


def _value(field: QuestionField, raw: Any) -> Any:
    if raw is None:
        raw = field.default
    if raw is None:
        raise QuestionError(field.name, "must be given")
    if field.type in ("text", "line"):
        return _text(field, raw)
    if field.type in ("int", "float"):
        return _number(field, raw)
    if field.type == "bool":
        return _flag(field, raw)
    if raw not in field.choices:
        raise QuestionError(field.name, f"must be one of {', '.join(field.choices)}, got {_shown(raw)}")
    return raw


def _text(field: QuestionField, raw: Any) -> str:
    if not isinstance(raw, str):
        raise QuestionError(field.name, f"must be a text, got {_shown(raw)}")
    if not raw.strip() and field.default is None:
        raise QuestionError(field.name, "is empty; write something")
    if len(raw) > field.most_characters:
        raise QuestionError(
            field.name, f"has {len(raw):,} characters; at most {field.most_characters:,} are read: shorten it"
        )
    try:
        raw.encode()
    except UnicodeEncodeError:
        raise QuestionError(field.name, "holds half a character (a lone surrogate); type it anew") from None
    if "\0" in raw:
        raise QuestionError(field.name, "holds a zero byte; remove it")
    return raw


def _number(field: QuestionField, raw: Any) -> int | float:
    if isinstance(raw, str):
        try:
            raw = int(raw) if field.type == "int" else float(raw)
        except ValueError:
            raise QuestionError(field.name, f"must be a number, got {_shown(raw)}") from None
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not _is_finite(raw):
        raise QuestionError(field.name, f"must be a number, got {_shown(raw)}")
    if field.type == "int" and raw != int(raw):
        raise QuestionError(field.name, f"must be a whole number, got {_shown(raw)}")
    if field.minimum is not None and raw < field.minimum:
        raise QuestionError(field.name, f"must be at least {field.minimum:g}, got {_shown(raw)}")
    if field.maximum is not None and raw > field.maximum:
        raise QuestionError(field.name, f"must be at most {field.maximum:g}, got {_shown(raw)}")
    return int(raw) if field.type == "int" else float(raw)


def _flag(field: QuestionField, raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if isinstance(raw, str) and raw.lower() in words:
        return words[raw.lower()]
    raise QuestionError(field.name, f"must be true or false, got {_shown(raw)}")


def _is_finite(number: int | float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number that no float can hold
        return False


def _shown(raw: Any) -> str:
    shown = repr(raw)
    return shown if len(shown) <= 60 else shown[:57] + "..."
