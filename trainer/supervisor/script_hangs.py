"""How long a person's script may be silent: nobody knows its phases, so doubt is always in its favour.

A recipe says when it evaluates or saves; a script just is quiet for a while.
Any output of it is a sign of life.  A script that computes is not called stuck
before a multiple of what its own pace would allow, and never when it has not
said how far it is at all; one that waits for a timer, or for a process it has
started, is not called stuck at all until it has said so.
"""

from __future__ import annotations

from typing import Final

from trainer.supervisor.hangs import Evidence, Hang, Wait, verdict

_UNKNOWN_PHASE: Final = 10.0  # times what a step may take: an evaluation, a download, a save
_COMPUTING: Final = 3.0
_WAKES_ITSELF: Final = frozenset({Wait.TIME, Wait.CHILD, None})


class ScriptVerdict:
    """Judges one attempt of a script; called as :func:`trainer.supervisor.hangs.verdict` is."""

    def __init__(self, *, step_may_take_s: float) -> None:
        """``step_may_take_s`` is the run's policy."""
        self._long_s = _UNKNOWN_PHASE * step_may_take_s
        self.has_spoken = False  # whether it ever said how far it is

    def __call__(self, seen: Evidence, *, limit_s: float, suspended_limit_s: float) -> Hang | None:
        """How the script hangs, or None while it may be taken for healthy."""
        found = verdict(seen, limit_s=limit_s, suspended_limit_s=suspended_limit_s)
        if found is None or found is Hang.STOPPED:
            return found
        is_idle = found in (Hang.DEADLOCKED, Hang.BLOCKED_ON_IO)
        if not self.has_spoken:
            is_stuck = is_idle and seen.waits_for not in _WAKES_ITSELF
            return found if is_stuck and seen.progress_age_s >= self._long_s else None
        if is_idle and seen.waits_for not in _WAKES_ITSELF:
            return found  # waits for what never comes: as plain as in any trainer
        longest_s = max(limit_s, self._long_s) * (1.0 if is_idle else _COMPUTING)
        return found if seen.progress_age_s >= longest_s else None
