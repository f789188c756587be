"""How figures measured several times are told."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def spread(values: Sequence[float], digits: int = 1) -> str:
    """``median (min..max)``, thousands set apart.

    Raises:
        statistics.StatisticsError: there are no values.
    """
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f}..{high:,.{digits}f})"
