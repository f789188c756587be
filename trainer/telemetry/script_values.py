"""What scripts hand over as metrics, made into plain numbers with printable names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal

from trainer.telemetry.output.names import is_known, metric_name

MAX_NAME: Final = 200
MAX_VALUES: Final = 1_000
_DEPTH: Final = 6
_OURS: Final = frozenset({"lr", "learning_rate", "grad_norm", "gnorm"})
_LEVELS: Final[dict[str, Literal["info", "warning", "error"]]] = {
    "warn": "warning",
    "warning": "warning",
    "error": "error",
    "critical": "error",
}


def flat_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """The numbers in ``values`` by their whole name; whatever is no single number is left out."""
    found: dict[str, float] = {}
    _collect(values, "", found, depth=0)
    return found


def level_of(word: object) -> Literal["info", "warning", "error"]:
    """The level of an alert, by any of the words people use; info where it is none of them."""
    name = getattr(word, "value", word)
    return _LEVELS.get(str(name).lower(), "info")


def _collect(values: Mapping[str, Any], prefix: str, found: dict[str, float], *, depth: int) -> None:
    for key, value in values.items():
        if len(found) >= MAX_VALUES:
            return
        if isinstance(value, Mapping):
            if depth < _DEPTH:
                _collect(value, f"{prefix}{key}/", found, depth=depth + 1)
            continue
        number = _number(value)
        if number is not None:
            found[_name(f"{prefix}{key}")] = number


def _number(value: Any) -> float | None:
    if type(value) is float:
        return value
    if isinstance(value, (str, bytes)) or value is None:
        return None
    try:
        item = getattr(value, "item", None)  # of torch and numpy: float() would warn of gradients and shapes
        number = float(item() if callable(item) else value)
    except Exception:  # noqa: BLE001 - whatever a foreign object says, a report must not end a training
        return None
    return number if not math.isnan(number) else math.nan


def _name(key: str) -> str:
    name = key.strip()
    if "/" not in name and (is_known(name) or name in _OURS):
        name = metric_name(name) or name
    if not name.isprintable() or not name.isascii():
        name = "".join(
            sign if sign.isprintable() else "_" for sign in name.encode("utf-8", "replace").decode()
        )
    return name[:MAX_NAME] or "unnamed"
