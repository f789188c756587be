"""The answers of a snapshot, checked one by one: what readers take apart must have the shape they expect.

Fields that nobody takes apart may hold any JSON that is not nested too deeply.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from app.errors import InvalidRequest
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import decode_number

MAX_TEXT: Final = 10**7  # characters
MOST_NESTED: Final = 32
_TEXTS: Final = ("output", "text")
_PAIRS: Final = {
    "top": "document id and score",
    "probabilities": "label and probability",
    "tokens": "token and log-probability",
}


def check_outputs(outputs: list[Any]) -> None:
    """Check what was answered to each probe.

    Raises:
        InvalidRequest: names the answer and the field that is wrong.
    """
    for index, output in enumerate(outputs):
        if not isinstance(output, dict):
            raise wrong(f"outputs[{index}]", "must be an object")
        for name in _TEXTS:
            if name in output:
                _check_text(output[name], f"outputs[{index}].{name}")
        for name, meaning in _PAIRS.items():
            if name in output:
                _check_pairs(output[name], f"outputs[{index}].{name}", meaning)


def check_depth(value: object, place: str) -> None:
    """Refuse lists and objects within each other that could be read, but not be written again.

    Raises:
        InvalidRequest: they are more than ``MOST_NESTED`` deep.
    """
    level = [value]
    for _ in range(MOST_NESTED):
        level = [inner for one in level for inner in _inside(one) if isinstance(inner, (dict, list))]
        if not level:
            return
    raise wrong(place, f"is nested more than {MOST_NESTED} deep")


def wrong(place: str, why: str) -> InvalidRequest:
    """The refusal of a snapshot for what is at ``place``."""
    return InvalidRequest(f"snapshot: {place} {why}", field=place)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _check_text(text: object, place: str) -> None:
    if not isinstance(text, str):
        raise wrong(place, f"must be text, got {text!r:.80}")
    if len(text) > MAX_TEXT:
        raise wrong(place, f"has {len(text)} characters, the limit is {MAX_TEXT}")


def _check_pairs(pairs: object, place: str, meaning: str) -> None:
    if not isinstance(pairs, list):
        raise wrong(place, f"must be a list, got {pairs!r:.80}")
    for number, pair in enumerate(pairs):
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)):
            raise wrong(f"{place}[{number}]", f"must be a pair of {meaning}, got {pair!r:.80}")
        if pair[1] is None:
            continue
        try:
            decode_number(pair[1])
        except ProtocolError as exc:
            raise wrong(f"{place}[{number}][1]", f"must be a number, got {pair[1]!r:.80}") from exc
