"""What of the fallback ladder an attempt runs with, for the badges of tables and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainer.protocol.rungs import Rung

MAX_RUNGS: Final = 32
_MAX_TITLE: Final = 200
_UNSAFE_VARIABLE: Final = "KMP_DUPLICATE_LIB_OK"
_OFF: Final = ("", "0", "FALSE", "NO", "OFF", "F")


def rungs_in_force(started: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rungs an ``attempt`` event of the kind ``started`` tells of, oldest first.

    Two OpenMP runtimes that are let live together count as a rung wherever they
    come from, since results may be silently wrong with them: from the ladder, a
    profile, or the user's own variables.
    """
    plan = started.get("plan") or {}  # sound, or ingest had refused the event
    found = [_short(rung) for rung in plan.get("rungs", ())[:MAX_RUNGS]]
    known = {rung["rung"] for rung in found}
    if Rung.DUPLICATE_OPENMP not in known and _lets_runtimes_live_together(started.get("environment")):
        title = f"two OpenMP runtimes are let live together ({_UNSAFE_VARIABLE})"
        found.append(
            {
                "rung": Rung.DUPLICATE_OPENMP.value,
                "title": title,
                "changes_numbers": False,
                "is_unsafe": True,
            }
        )
    return found


def _short(rung: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rung": str(rung.get("rung", ""))[:64],
        "title": str(rung.get("title", ""))[:_MAX_TITLE],
        "changes_numbers": rung.get("changes_numbers") is True,
        "is_unsafe": rung.get("is_unsafe") is True,
    }


def _lets_runtimes_live_together(environment: object) -> bool:
    if not isinstance(environment, list):
        return False
    values = [
        str(variable.get("value", ""))
        for variable in environment
        if isinstance(variable, Mapping) and variable.get("name") == _UNSAFE_VARIABLE
    ]
    return any(value.strip().upper() not in _OFF for value in values)
