"""Who says what in one example: the shapes of rows that people have, turned into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from trainer.datasets.records import DatasetError
from trainer.datasets.tables import ColumnMap

MAX_TEXT_CHARS: Final = 8_000_000
_SHARED: Final = "conversations"  # what files of shared conversations call their messages
# The shape of a row -> the kind of dataset it makes.
KINDS: Final[dict[str, str]] = {
    "messages": "messages",
    "instruction": "messages",
    "completion": "completion",
    "text": "text",
}
_SPEAKERS: Final = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "gpt": "assistant", "bot": "assistant", "model": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip


class Turn(NamedTuple):
    """What one speaker says."""

    role: str
    text: str


@dataclass(frozen=True)
class Place:
    """Where in a file a row is, e.g. ``line 3``."""

    path: Path
    where: str

    def wrong(self, what: str, *, column: str = "") -> DatasetError:
        """The error that says what is wrong here."""
        named = f", column {column}" if column else ""
        return DatasetError(f"{self.path}, {self.where}{named}: {what}")


def kind_of(place: Place, row: Mapping[str, Any], mapped: ColumnMap) -> str:
    """Which shape a row has; a key of :data:`KINDS`.

    Raises:
        DatasetError: it has none of them; says which columns it has.
    """
    if mapped.has("messages", row) or _SHARED in row:
        return "messages"
    if mapped.has("instruction", row):
        return "instruction"
    if mapped.has("prompt", row):
        return "completion"
    if mapped.has("text", row):
        return "text"
    has = ", ".join(repr(str(name)[:40]) for name in list(row)[:12]) or "none"
    raise place.wrong(
        "needs the column messages, or instruction and output, or prompt and completion, or text; "
        f"it has {has}. Rename a column, or say which column is which"
    )


def turns_of(place: Place, row: Mapping[str, Any], mapped: ColumnMap, *, shape: str) -> tuple[Turn, ...]:
    """The turns of a row of ``shape``; the last one is what the model is to say.

    Raises:
        DatasetError: a part is missing, empty or no text.
    """
    if shape == "messages":
        return _messages(place, row, mapped)
    if shape == "instruction":
        return _instruction(place, row, mapped)
    roles = ("prompt", "completion") if shape == "completion" else ("text",)
    return tuple(Turn(role, _text(place, row, mapped, role)) for role in roles)


def checked_text(place: Place, text: object, column: str) -> str:
    """``text`` if it is one that can be learned from.

    Raises:
        DatasetError: it is missing, empty, no text or too long.
    """
    if text is None:
        raise place.wrong("is missing", column=column)
    if not isinstance(text, str):
        raise place.wrong(f"must be text, got {type(text).__name__}", column=column)
    if not text.strip():
        raise place.wrong("is empty; remove the row or fill it in", column=column)
    if len(text) > MAX_TEXT_CHARS:
        raise place.wrong(
            f"has {len(text):,} characters, {MAX_TEXT_CHARS:,} are allowed; cut it", column=column
        )
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise place.wrong("holds half of a surrogate pair, which is not text", column=column) from exc
    return text


def _text(place: Place, row: Mapping[str, Any], mapped: ColumnMap, role: str) -> str:
    return checked_text(place, mapped.cell(role, row), mapped.called(role))


def _instruction(place: Place, row: Mapping[str, Any], mapped: ColumnMap) -> tuple[Turn, ...]:
    asked = _text(place, row, mapped, "instruction").strip()
    if mapped.cell("input", row) not in (None, ""):
        asked = f"{asked}\n\n{_text(place, row, mapped, 'input').strip()}"
    turns = [Turn("user", asked), Turn("assistant", _text(place, row, mapped, "output").strip())]
    if mapped.cell("system", row) not in (None, ""):
        turns.insert(0, Turn("system", _text(place, row, mapped, "system").strip()))
    return tuple(turns)


def _messages(place: Place, row: Mapping[str, Any], mapped: ColumnMap) -> tuple[Turn, ...]:
    column = mapped.key("messages") if mapped.has("messages", row) else _SHARED
    messages = row.get(column)
    if not isinstance(messages, list) or not messages:
        raise place.wrong('must be a list like [{"role": "user", "content": "…"}]', column=column)
    turns = [
        _message(place, message, f"{column}[{number}]") for number, message in enumerate(messages, start=1)
    ]
    while turns and turns[-1].role != "assistant":
        turns.pop()  # nothing follows that could be learned
    if not turns:
        raise place.wrong("holds no message of the assistant, so there is nothing to learn", column=column)
    if turns[0].role == "assistant":
        raise place.wrong("begins with the assistant: there is nothing it answers to", column=column)
    return tuple(turns)


def _message(place: Place, message: object, column: str) -> Turn:
    if not isinstance(message, dict):
        raise place.wrong('must be an object like {"role": "user", "content": "…"}', column=column)
    said = message.get("role", message.get("from"))
    role = _SPEAKERS.get(said.lower()) if isinstance(said, str) else None
    if role is None:
        known = ", ".join(sorted(set(_SPEAKERS.values())))
        raise place.wrong(f"its role must be one of {known}, got {str(said)[:40]!r}", column=column)
    content = message.get("content", message.get("value"))
    if isinstance(content, list):
        content = _joined(place, content, column)
    return Turn(role, checked_text(place, content, column).strip())


def _joined(place: Place, parts: Sequence[object], column: str) -> str:
    """The text parts of one message; pictures and sounds cannot be learned here."""
    texts = []
    for part in parts:
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise place.wrong("only parts of type text can be used", column=column)
        texts.append(part["text"])
    return "".join(texts)
