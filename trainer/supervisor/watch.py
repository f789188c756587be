"""Decides, from outside, whether a trainer advances: about once a second, without ever waiting for it.

Everything is measured on the monotonic clock.  A silence counts only as far as the
trainer could have spoken: when the watch itself had no turn for a while (a
suspended container, a machine under water) nobody's silence counts from before that; a
delay of a second or two is left out; and where the trainer had to wait for a processor
for nearly all of the time, only the rest of it counts.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.protocol.events import Phase
from trainer.protocol.run_folder import Heartbeat
from trainer.supervisor import process_state
from trainer.supervisor.hangs import Evidence, Hang, in_words, verdict
from trainer.supervisor.limits import Limits, Sign
from trainer.supervisor.processor_use import ProcessorUse
from trainer.supervisor.rank_processes import RankProcesses

EVERY_S: Final = 0.5
_ABSENT_S: Final = 5.0
_WINDOW_S: Final = 10.0
_LATE_S: Final = 2 * EVERY_S
_LEAST_COUNTED: Final = 1 / 3  # of a starved trainer's silence: an endless loop must be found at last
_STARVED_SHARE: Final = 0.75  # below that the safety factor of the limits is enough
_FULL_BYTES: Final = 64 * 1024
_SURE_AFTER: Final = 10  # looks that agree before a stall is said to be of another kind


@dataclass(frozen=True)
class Stall:
    """A verdict with its evidence; ``limit_s`` is the limit that was passed."""

    hang: Hang
    evidence: Evidence
    limit_s: float

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        return in_words(self.hang, self.evidence)

    def to_json(self) -> dict[str, Any]:
        """The fields of a ``stall`` event."""
        seen = self.evidence
        return {
            "verdict": self.hang.value,
            "text": self.words,
            "phase": seen.phase,
            "limit_s": round(self.limit_s, 1),
            "progress_age_s": round(seen.progress_age_s, 1),
            "beat_age_s": round(seen.beat_age_s, 1),
            "cpu_percent": None if seen.cpu_percent is None else round(seen.cpu_percent, 1),
            "waits_for": seen.waits_for.value if seen.waits_for else None,
        }


@dataclass(frozen=True)
class Word:
    """What the trainer has said so far: its last heartbeat, and what its spool holds.

    ``heard_at`` is when the spool last grew (monotonic), or when the attempt began.
    """

    beat: Heartbeat | None
    heard_at: float
    phase: str | None
    step: int


class Watch:
    """Watches one attempt.

    ``stall`` is the present verdict, None while the trainer is healthy; ``silence_s`` how long it has made
    no progress although it could have.
    """

    def __init__(
        self,
        pid: int,
        *,
        root: Path,
        policy: dict[str, Any],
        from_step: int,
        ranks: RankProcesses | None = None,
    ) -> None:
        """``ranks`` are the processes that train, where ``pid`` has only started them."""
        self._ranks = ranks
        self._suspended: dict[int, Heartbeat] = {}
        self.stall: Stall | None = None
        self.silence_s = 0.0
        self.limits = Limits(policy, from_step=from_step)
        self._pid = pid
        self._root = root
        self._verdict: Callable[..., Hang | None] = verdict
        self._from_step = from_step
        self._started_at = self._looked_at = self._counts_from = time.monotonic()
        self._progress_at = self._started_at
        self._late_s = 0.0  # what the watch was late since the last progress
        self._use = ProcessorUse()
        self._was_suspended = False
        self._doubts = 0

    def judge_with(self, judge: Callable[..., Hang | None]) -> None:
        """Let ``judge`` decide, which is called as :func:`trainer.supervisor.hangs.verdict` is."""
        self._verdict = judge

    def is_due(self) -> bool:
        """Whether it is time for the next look."""
        return time.monotonic() - self._looked_at >= EVERY_S

    def look(self, word: Word, *, gpu_percent: float = 0.0) -> bool:
        """Look once; whether the verdict is another one now."""
        now = time.monotonic()
        pause_s, self._looked_at = now - self._looked_at, now
        is_suspended = self._is_suspended()
        if is_suspended is None:  # it has ended: that is judged by its exit status
            return False
        was_absent = pause_s > _ABSENT_S and self.stall is None
        if was_absent or (self._was_suspended and not is_suspended):
            self._count_from(now)
        self._was_suspended = is_suspended
        sign = self._sign(word, now)
        if sign.progress_at > self._progress_at:
            self._progress_at, self._late_s = sign.progress_at, 0.0
        elif not was_absent:
            self._late_s += max(0.0, pause_s - _LATE_S)
        if sign.progress_at >= self._counts_from:
            self.limits.learn(sign, was_stalled=self.stall is not None)
        return self._conclude(self._judge(word, sign, gpu_percent))

    def _count_from(self, now: float) -> None:
        """Forget the silence until now: nobody could have spoken."""
        self._counts_from = now
        self._late_s = 0.0
        self._use.forget()
        self.limits.forget_last()

    def _sign(self, word: Word, now: float) -> Sign:
        beat = word.beat
        return Sign(
            phase=word.phase or (beat.phase if beat is not None else Phase.LOADING.value),
            step=max(word.step, beat.step if beat is not None else 0),
            progress_at=max(word.heard_at, beat.progress_at if beat is not None else self._started_at),
            seen_at=now,
        )

    def _judge(self, word: Word, sign: Sign, gpu_percent: float) -> Stall | None:
        now = sign.seen_at
        beat = next(iter(self._suspended.values()), word.beat)
        beat_at = beat.beat_at if beat is not None else self._started_at
        beat_age_s = now - max(beat_at, self._counts_from)
        quiet_since = max(sign.progress_at, self._counts_from)
        self.silence_s = max(0.0, now - quiet_since - self._late_s)
        limit_s = self.limits.limit_s(sign.phase, has_stepped=sign.step > self._from_step)
        state = None
        if self.stall is not None or self.silence_s >= limit_s - min(_WINDOW_S, limit_s / 2):
            state = process_state.look(self._pid) if self._ranks is None else self._ranks.look()
            if state is None:
                return self.stall
            self._use.look(state, now, since=max(quiet_since, now - _WINDOW_S))
            starved = self._use.starved_share()
            if self.stall is None and starved > _STARVED_SHARE:
                self.silence_s *= max(_LEAST_COUNTED, 1.0 - starved)
        seen = Evidence(
            phase=sign.phase,
            beat_age_s=beat_age_s,
            progress_age_s=self.silence_s,
            cpu_percent=self._use.cpu_percent() if state else None,
            running_share=self._use.running_share(),
            gpu_percent=gpu_percent,
            is_suspended=self._was_suspended,
            waits_for=state.waits_for if state else None,
            is_disk_full=beat_age_s > _ABSENT_S and _is_full(self._root),
            who=" and ".join(f"rank {rank}" for rank in self._suspended),
        )
        hang = self._verdict(seen, limit_s=limit_s, suspended_limit_s=self.limits.suspended_s)
        return None if hang is None else Stall(hang, seen, limit_s)

    def _is_suspended(self) -> bool | None:
        is_suspended = process_state.is_suspended(self._pid)
        if self._ranks is not None and is_suspended is not None:
            self._suspended = self._ranks.suspended()
        return is_suspended if is_suspended is None else is_suspended or bool(self._suspended)

    def _conclude(self, found: Stall | None) -> bool:
        """Begin and end a stall at once; call it another kind only when that stays so."""
        present = self.stall
        if found is None or present is None or found.hang is present.hang:
            self._doubts = 0
            if (found is None) is (present is None):
                return False
            self.stall = found
            return True
        self._doubts += 1
        if self._doubts < _SURE_AFTER:
            return False
        self._doubts = 0
        self.stall = found
        return True


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _FULL_BYTES
    except OSError:
        return False
