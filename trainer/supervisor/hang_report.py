"""Tells what the watch finds: ``stall`` and ``stacks`` events, and what a policy wants done about it."""

from __future__ import annotations

import logging
import time
from typing import Any, Final

from trainer.protocol.events import EventType
from trainer.protocol.policy import default_of
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.hang_finding import HangFacts
from trainer.supervisor.hangs import Hang
from trainer.supervisor.own_spool import OwnSpool
from trainer.supervisor.process import Trainer
from trainer.supervisor.py_spy import PySpyRequest
from trainer.supervisor.rank_processes import RankProcesses, RankStacks
from trainer.supervisor.stacks import Place, StackRequest, place, threads
from trainer.supervisor.watch import Stall, Watch, Word

log = logging.getLogger(__name__)
_REPORT: Final = "report"
_STOP: Final = "stop"
_RETRY: Final = "retry"
RETRY_AFTER_S: Final[float] = default_of("retry_after_s")
_SHOWN_FRAMES: Final = 6


class HangReport:
    """Watches one attempt for the supervisor's loop and spools what there is to tell.

    ``stall`` is the present verdict; ``reason`` says it in words, with the
    place where the trainer stands once that is known.
    """

    def __init__(
        self,
        paths: RunPaths,
        *,
        attempt: int,
        trainer: Trainer,
        spool: OwnSpool,
        watch: Watch,
        policy: dict[str, Any],
        ranks: RankProcesses | None = None,
    ) -> None:
        self._paths, self._ranks = paths, ranks
        self._stacks = paths.stacks(attempt)
        self._attempt = attempt
        self._trainer = trainer
        self._spool = spool
        self._watch = watch
        self._stops = policy.get("on_stall", _REPORT) == _STOP
        self._request: StackRequest | RankStacks | PySpyRequest | None = None
        self._place = ""
        self._who = "It"
        self._told: Stall | None = None
        self._found: Place | None = None
        self._dump = ""
        self._began_at = 0.0
        self._retry_after_s = _retry_after_s(policy)

    @property
    def stall(self) -> Stall | None:
        """The present verdict; None while the trainer is healthy."""
        return self._told

    @property
    def reason(self) -> str:
        """The present verdict in words; empty while the trainer is healthy."""
        return "" if self._told is None else f"{self._told.hang}: {self._told.words}{self._place}"

    @property
    def wants_stop(self) -> bool:
        """Whether the policy ends it now: long enough stalled, and its stacks were taken or cannot be."""
        is_sure = self._watch.silence_s >= self._watch.limits.training_floor_s
        return self._stops and self._told is not None and self._request is None and is_sure

    @property
    def wants_retry(self) -> bool:
        """Whether the policy ends it now in order to try again: one stall has lasted long enough."""
        if self._retry_after_s is None or self._told is None or self._request is not None:
            return False
        return time.monotonic() - self._began_at >= self._retry_after_s

    @property
    def facts(self) -> HangFacts | None:
        """The present verdict for the diagnosis; None while the trainer is healthy."""
        if self._told is None:
            return None
        stacks = threads(self._dump)
        frames = tuple(str(frame) for frame in stacks[-1][:_SHOWN_FRAMES]) if stacks else ()
        code = self._found.kind if self._found is not None else None
        return HangFacts(
            self._told.hang, self._told.evidence.phase, code, self.reason, self._dump, frames
        )  # fmt: skip

    @property
    def is_awaiting_stacks(self) -> bool:
        """Whether a stack dump is under way."""
        return self._request is not None

    def is_due(self) -> bool:
        """Whether :meth:`look` has anything to do; a stack dump is followed at every turn."""
        return self._request is not None or self._watch.is_due()

    def look(self, word: Word, *, gpu_percent: float) -> bool:
        """Look at trainer and stack dump; whether the state or its reason is another one now."""
        changed = False
        if self._watch.is_due() and self._watch.look(word, gpu_percent=gpu_percent):
            self._tell(word)
            changed = True
        return self._follow_dump(word) or changed

    def _tell(self, word: Word) -> None:
        if self._told is None:
            self._began_at = time.monotonic()
        self._found, self._dump = None, ""
        stall, before = self._watch.stall, self._told
        self._told, self._place = stall, ""
        if isinstance(self._request, PySpyRequest):
            self._request.abandon()
        self._request = None
        if stall is not None:
            log.warning("%s", self.reason)
            self._event(EventType.STALL, word, what="began", **stall.to_json())
            if stall.hang is not Hang.STOPPED:  # suspended it would answer only when it is continued
                self._request = self._ask()
        elif before is not None:
            log.warning("the trainer advances again")
            self._event(EventType.STALL, word, what="ended", verdict=before.hang.value)

    def _ask(self) -> StackRequest | RankStacks:
        if self._ranks is not None:
            return RankStacks(self._ranks, self._paths, attempt=self._attempt)
        return StackRequest(self._trainer, self._stacks)

    def _follow_dump(self, word: Word) -> bool:
        request, stall = self._request, self._told
        if request is None or stall is None:
            return False
        request.look()
        if not request.is_over:
            return False
        stacks = threads(request.decisive)
        if not stacks and not isinstance(request, PySpyRequest) and self._trainer.poll() is None:
            self._request = PySpyRequest(self._pid_of(request))
            return False
        self._request = None
        if isinstance(request, RankStacks):
            self._who = f"Rank {request.rank}"
        found = place(stacks, stall.hang)
        if found is None:
            trouble = request.trouble if isinstance(request, PySpyRequest) else "it has ended"
            self._place = f". Where it stands is unknown: it does not answer SIGUSR1, and {trouble}"
            log.warning("%s", self.reason)
            return True
        self._place = f". {self._who} stands in {found.frame}: {found.kind}"
        self._event(
            EventType.STACKS,
            word,
            verdict=stall.hang.value,
            num_threads=len(threads(request.text)),
            by="py-spy" if isinstance(request, PySpyRequest) else "faulthandler",
            text=request.text,
            **found.to_json(),
        )
        self._found, self._dump = found, request.decisive
        return True

    def _pid_of(self, request: StackRequest | RankStacks) -> int:
        """Whom py-spy is to look into: the trainer, or the rank that does not answer."""
        if not isinstance(request, RankStacks):
            return self._trainer.pid
        self._who = f"Rank {request.rank}"
        return request.pid or self._trainer.pid

    def _event(self, kind: EventType, word: Word, **fields: Any) -> None:
        self._spool.append(kind, attempt=self._attempt, step=word.step, **fields)


def _retry_after_s(policy: dict[str, Any]) -> float | None:
    """How long a stall may last before the run is tried again; None for ever."""
    if policy.get("on_stall", _REPORT) != _RETRY:
        return None
    asked = policy.get("retry_after_s")
    return float(asked) if isinstance(asked, (int, float)) and asked >= 0 else RETRY_AFTER_S
