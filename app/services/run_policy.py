"""What a run's policy may ask for, checked before the run is queued."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import InvalidRequest
from trainer.protocol.policy import PolicyError, checked_policy


def check_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy as it is stored.

    Raises:
        InvalidRequest: ``field`` names what is wrong, e.g. ``policy.on_stall``.
    """
    try:
        return checked_policy(policy)
    except PolicyError as exc:
        raise InvalidRequest(exc.message, field=f"policy.{exc.field}", hint=exc.hint or None) from exc
