"""How long each phase may go without progress: generous until the run has shown its pace, tight after.

Learnt is the longest interval between two signs of progress, per phase, from what
the watch sees at each look: exact where one step lies between two looks, from
below (by half a second at most) otherwise.  The first step and the loading teach nothing
about the steps behind them, and a silence that was a stall is no pace: when it
ends by itself, the same silence must only not be a stall again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from trainer.protocol.events import Phase

TRAINING_FLOOR_S: Final = 60.0
LEARNT_FLOOR_S: Final = 10.0
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
_LEARNT_FLOORS: Final = {Phase.SAVING.value: 3.0}  # a disk that syncs for others is no pace of this run
_SAFETY: Final = 5.0
_AFTER_A_STALL: Final = 1.5
_ENOUGH_STEPS: Final = 5
_ENOUGH_PASSES: Final = 3


@dataclass(frozen=True)
class Sign:
    """What one look saw: the newest progress and the look itself (monotonic), and where the trainer was."""

    phase: str
    step: int
    progress_at: float
    seen_at: float


class Limits:
    """Learns from one attempt; a new attempt starts from the floors."""

    def __init__(self, policy: dict[str, Any], *, from_step: int = 0) -> None:
        """``policy["stall_after_s"]`` replaces the floors of training; all other floors scale with it.

        ``from_step`` is where the attempt begins.
        """
        asked = policy.get("stall_after_s")
        own_s = float(asked) if isinstance(asked, (int, float)) and asked > 0 else None
        self.training_floor_s = own_s or TRAINING_FLOOR_S
        self._learnt_floor_s = own_s or LEARNT_FLOOR_S
        self._from_step = from_step
        self._step = from_step
        self._longest: dict[str, float] = {}
        self._survived: dict[str, float] = {}
        self._passes: Counter[str] = Counter()
        self._last: Sign | None = None

    @property
    def suspended_s(self) -> float:
        """How long a suspended process is let be."""
        return min(SUSPENDED_S, self.training_floor_s)

    def learn(self, sign: Sign, *, was_stalled: bool = False) -> None:
        """Take a look into account; ``was_stalled`` says that the silence before it was called a stall."""
        last, self._last = self._last, sign
        self._step = max(self._step, sign.step)
        if last is None:
            return
        if last.phase != sign.phase or (sign.phase != Phase.TRAINING and sign.step > last.step):
            self._passes[last.phase] += 1  # a step between two looks at one phase: it was left and came again
        if sign.progress_at <= last.progress_at:
            return
        waited_s = max(0.0, last.seen_at - last.progress_at)  # at least this long, and then it went on
        if last.phase == sign.phase and sign.step - last.step == 1:
            waited_s = sign.progress_at - last.progress_at
        kind = self._kind(last.phase, has_stepped=last.step > self._from_step)
        known = self._survived if was_stalled else self._longest
        known[kind] = max(known.get(kind, 0.0), waited_s)

    def forget_last(self) -> None:
        """Learn nothing from the interval that is under way."""
        self._last = None

    def has_learnt(self, phase: str) -> bool:
        """Whether the run has shown its pace in ``phase``."""
        if phase == Phase.TRAINING:
            return self._step - self._from_step >= _ENOUGH_STEPS
        return self._passes[phase] >= _ENOUGH_PASSES

    def limit_s(self, phase: str, *, has_stepped: bool) -> float:
        """How long ``phase`` may be silent; before its first step training may be as long as loading."""
        kind = self._kind(phase, has_stepped=has_stepped)
        if kind != _FIRST_STEP and self.has_learnt(phase):
            floor_s = self._learnt_floor_s * _LEARNT_FLOORS.get(kind, 1.0)
        else:
            floor_s = self.training_floor_s * _FLOORS.get(kind, _FLOORS[_FIRST_STEP])
        return max(
            floor_s, _SAFETY * self._longest.get(kind, 0.0), _AFTER_A_STALL * self._survived.get(kind, 0.0)
        )

    def _kind(self, phase: str, *, has_stepped: bool) -> str:
        return _FIRST_STEP if phase == Phase.TRAINING and not has_stepped else phase
