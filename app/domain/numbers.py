"""Stored numbers as JSON and its readers can have them: finite, and whole ones exact."""

from __future__ import annotations

import math
from typing import Final

MOST_EXACT: Final = 2**53  # whole numbers a browser holds exactly


def finite(value: float | None) -> float | None:
    """A number as it is, None where strict JSON has no number."""
    return value if value is not None and math.isfinite(value) else None


def number(raw: object) -> float | None:
    """A stored number; None for anything else, and for NaN and infinities, which are stored as words."""
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return finite(raw)
    return None


def whole(value: float | None, *, low: int) -> int | None:
    """The whole part of a number from ``low`` to 2**53; None for any other."""
    return int(value) if value is not None and low <= value <= MOST_EXACT else None


def share(value: float | None) -> float | None:
    """A number cut to 0..1; None where it is not finite."""
    return min(1.0, max(0.0, value)) if value is not None and math.isfinite(value) else None


def is_one(value: float | None) -> bool:
    """Whether a column that says yes or no says yes; None stands for no."""
    return value is not None and value >= 1
