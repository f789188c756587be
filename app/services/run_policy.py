"""What a run's policy may ask for, checked before the run is queued."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from app.errors import InvalidRequest

MIN_STALL_S: Final = 1.0
MAX_STALL_S: Final = 7 * 24 * 3600.0
_ON_STALL: Final = ("report", "stop")


def check_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy as it is stored.

    Raises:
        InvalidRequest: ``field`` names what is wrong: ``policy.on_stall`` or ``policy.stall_after_s``.
    """
    on_stall = policy.get("on_stall")
    if on_stall == "retry":
        raise InvalidRequest(
            "a stalled run is not started again by itself yet",
            field="policy.on_stall",
            hint="Choose 'report' (the default), or 'stop' and Start it again from its last checkpoint.",
        )
    if on_stall is not None and on_stall not in _ON_STALL:
        raise InvalidRequest(
            f"on_stall must be one of {', '.join(_ON_STALL)}, got {on_stall!r:.80}", field="policy.on_stall"
        )
    after_s = policy.get("stall_after_s")
    if after_s is not None and not _is_seconds(after_s):
        raise InvalidRequest(
            f"stall_after_s must be {MIN_STALL_S:g} to {MAX_STALL_S:g} seconds, got {after_s!r:.80}",
            field="policy.stall_after_s",
            hint="It is the time a training step may take; every other phase gets a multiple of it.",
        )
    return dict(policy)


def _is_seconds(value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return is_number and MIN_STALL_S <= value <= MAX_STALL_S  # type: ignore[operator]  # a number, as tested
