"""What a run's policy may ask for, checked before the run is queued."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from app.errors import InvalidRequest

MIN_STALL_S: Final = 1.0
MAX_STALL_S: Final = 7 * 24 * 3600.0
MAX_ATTEMPTS: Final = 20
MIN_RETRY_AFTER_S: Final = 0.0
_ON_STALL: Final = ("report", "stop", "retry")


def check_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy as it is stored.

    Raises:
        InvalidRequest: ``field`` names what is wrong: ``policy.max_attempts``, ``policy.on_stall``,
            ``policy.stall_after_s`` or ``policy.retry_after_s``.
    """
    max_attempts = policy.get("max_attempts")
    if max_attempts is not None and not _is_count(max_attempts):
        raise InvalidRequest(
            f"max_attempts must be a whole number from 1 to {MAX_ATTEMPTS}, got {max_attempts!r:.80}",
            field="policy.max_attempts",
            hint="It is the most launches without progress in between; 1 tries nothing again.",
        )
    on_stall = policy.get("on_stall")
    if on_stall is not None and on_stall not in _ON_STALL:
        raise InvalidRequest(
            f"on_stall must be one of {', '.join(_ON_STALL)}, got {on_stall!r:.80}", field="policy.on_stall"
        )
    after_s = policy.get("stall_after_s")
    if after_s is not None and not _is_seconds(after_s, at_least=MIN_STALL_S):
        raise InvalidRequest(
            f"stall_after_s must be {MIN_STALL_S:g} to {MAX_STALL_S:g} seconds, got {after_s!r:.80}",
            field="policy.stall_after_s",
            hint="It is the time a training step may take; every other phase gets a multiple of it.",
        )
    retry_s = policy.get("retry_after_s")
    if retry_s is not None and not _is_seconds(retry_s, at_least=MIN_RETRY_AFTER_S):
        raise InvalidRequest(
            f"retry_after_s must be {MIN_RETRY_AFTER_S:g} to {MAX_STALL_S:g} seconds, got {retry_s!r:.80}",
            field="policy.retry_after_s",
            hint="With on_stall 'retry' it is how long a stall may last before the run is started again.",
        )
    return dict(policy)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_ATTEMPTS


def _is_seconds(value: object, *, at_least: float) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return is_number and at_least <= value <= MAX_STALL_S  # type: ignore[operator]  # a number, as tested
