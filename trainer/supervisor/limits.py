"""How long each phase may go without progress: a floor, or a multiple of what this run has shown.

The longest interval between two signs of progress is learnt from the
heartbeats, per phase.  A beat is written once a second and holds only the
newest progress, so an interval is measured exactly where a step takes longer
than a beat, and from below where many fit between two beats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from trainer.protocol.events import Phase
from trainer.protocol.run_folder import Heartbeat

TRAINING_FLOOR_S: Final = 60.0
SUSPENDED_S: Final = 5.0  # a suspended process is told by the kernel, not guessed from its silence
_FIRST_STEP: Final = "first step"
# floors as multiples of that of training, so that a run that wants short limits gets them everywhere
_FLOORS: Final = {
    Phase.LOADING.value: 10.0,
    Phase.MINING.value: 10.0,
    Phase.EVALUATING.value: 5.0,
    Phase.SNAPSHOTTING.value: 5.0,
    Phase.SAVING.value: 5.0,
    Phase.TRAINING.value: 1.0,
    _FIRST_STEP: 10.0,  # compilation, the first allocation on a GPU, the first batch of a cold disk
}
_SAFETY: Final = 10.0
_PHASE_SAFETY: Final = 5.0


@dataclass(frozen=True)
class _Seen:
    phase: str
    step: int
    progress_at: float
    beat_at: float


class Limits:
    """Learns from one attempt's heartbeats; a new attempt starts from the floors."""

    def __init__(self, policy: dict[str, Any]) -> None:
        """``policy["stall_after_s"]`` replaces the floor of training; all other floors scale with it."""
        self.training_floor_s = _floor(policy)
        self._longest: dict[str, float] = {}
        self._last: _Seen | None = None

    @property
    def suspended_s(self) -> float:
        """How long a suspended process is let be."""
        return min(SUSPENDED_S, self.training_floor_s)

    def learn(self, beat: Heartbeat) -> None:
        """Take a heartbeat into account; called again with the same one it changes nothing."""
        fresh = _Seen(beat.phase, beat.step, beat.progress_at, beat.beat_at)
        last, self._last = self._last, fresh
        if last is None or fresh.progress_at <= last.progress_at:
            return
        waited_s = last.beat_at - last.progress_at  # at least this long, and then it went on
        if last.phase == fresh.phase:
            gap_s, num_steps = fresh.progress_at - last.progress_at, fresh.step - last.step
            waited_s = gap_s if num_steps == 1 else max(waited_s, gap_s / max(2, num_steps))
        self._longest[last.phase] = max(self._longest.get(last.phase, 0.0), waited_s)

    def forget_last(self) -> None:
        """Learn nothing from the interval that is under way."""
        self._last = None

    def longest_s(self, phase: str) -> float:
        """The longest interval between two signs of progress in ``phase`` so far."""
        return self._longest.get(phase, 0.0)

    def limit_s(self, phase: str, *, has_stepped: bool) -> float:
        """How long ``phase`` may be silent; before its first step training may be as long as loading."""
        is_training = phase == Phase.TRAINING
        floor = _FIRST_STEP if is_training and not has_stepped else phase
        floor_s = self.training_floor_s * _FLOORS.get(floor, _FLOORS[_FIRST_STEP])
        return max(floor_s, (_SAFETY if is_training else _PHASE_SAFETY) * self.longest_s(phase))


def _floor(policy: dict[str, Any]) -> float:
    asked = policy.get("stall_after_s")
    return float(asked) if isinstance(asked, (int, float)) and asked > 0 else TRAINING_FLOOR_S
