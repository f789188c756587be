"""Priorities of queued runs: three words for people, whole numbers in the database.

Only the standard library may be imported here.  Numbers between and beyond
the three are allowed: scripts have always sent them.
"""

from __future__ import annotations

from typing import Final

PRIORITIES: Final = {"high": 10, "normal": 0, "low": -10}


def priority_number(priority: int | str) -> int:
    """The number a word stands for; a number as it is.

    Raises:
        KeyError: there is no such word.
    """
    return PRIORITIES[priority] if isinstance(priority, str) else priority


def priority_word(number: int) -> str:
    """The word people see for a number."""
    return "high" if number > 0 else "low" if number < 0 else "normal"
