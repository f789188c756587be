"""What the suspicions of several recipes say in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Outlook, Survey


def judged(
    name: str,
    title: str,
    said: Sequence[str],
    remedies: Sequence[str],
    *,
    fine: str,
    details: Mapping[str, Any] | None = None,
) -> Check:
    """A warning of all that was ``said`` with what helps; ``fine`` where nothing was."""
    more = dict(details or {})
    if not said:
        return Check(name, title, Verdict.OK, fine, "", more)
    return Check(name, title, Verdict.WARNING, _sentence(said), _sentence(remedies), more)


def outlook_of(known: Survey) -> Outlook:
    """The outlook that a recipe's suspicions are only asked with.

    Raises:
        ValueError: there is none.
    """
    if known.outlook is None:
        raise ValueError("asked without an outlook")
    return known.outlook


def smoke_params(params: Mapping[str, Any], num_steps: int) -> dict[str, Any]:
    """A run of a few steps that evaluates, takes snapshots and saves."""
    return {
        **params,
        "max_steps": num_steps,
        "eval_every": 0,
        "checkpoint_every": 0,
        "patience": 0,
        "keep_checkpoints": 1,
    }


def _sentence(parts: Sequence[str]) -> str:
    joined = "; ".join(parts)
    return f"{joined[0].upper()}{joined[1:]}."


def unusable(why: object) -> str:
    """The sentence that says so; ``why`` may end as a question does."""
    words = str(why)
    return f"It cannot be used: {words}{'' if words.endswith(('.', '?')) else '.'}"
