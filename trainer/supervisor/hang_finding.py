"""Why a trainer that hung was ended, as a finding: its verdict, the place where it stood, what may help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trainer.diagnosis.finding import Finding
from trainer.protocol.events import Phase
from trainer.protocol.rungs import Rung
from trainer.supervisor.hangs import Hang

_SOURCE: Final = "docs/hangs.md"
_CONFIDENCE: Final = 0.8
_MOST_LINES: Final = 6


@dataclass(frozen=True)
class HangFacts:
    """A stall as the attempt's end found it.

    ``code`` is the kind of code it stood in (see ``stacks.place``), None where
    no stack could be had; ``words`` are the verdict with the place;
    ``stacks`` is the newest dump.
    """

    hang: Hang
    phase: str
    code: str | None
    words: str
    stacks: str = ""
    frames: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Kind:
    id: str
    remedy: str
    rungs: tuple[Rung, ...]


_BY_CODE: Final = {
    "OpenMP": _Kind(
        "hang_openmp",
        "Use one OpenMP thread, or let search and mining run in a process of their own; never fork after"
        " torch or faiss has been used.",
        (Rung.THREADS, Rung.MINING_PROCESS),
    ),
    "DataLoader": _Kind(
        "hang_dataloader",
        "Use no DataLoader workers; if that helps, look at what they share: locks, open files, /dev/shm.",
        (Rung.WORKERS,),
    ),
    "generate": _Kind(
        "hang_generate",
        "Evaluate less often, generate fewer tokens, or leave the evaluation to the end.",
        (Rung.EVALUATION_OFF,),
    ),
}
_BY_PHASE: Final = {
    Phase.MINING.value: _Kind(
        "hang_mining",
        "Let search and mining run in a process of their own, or mine less often.",
        (Rung.MINING_PROCESS,),
    ),
    Phase.EVALUATING.value: _Kind(
        "hang_evaluation",
        "Evaluate less often or on fewer examples, or leave the evaluation to the end.",
        (Rung.EVALUATION_OFF,),
    ),
}
_SUSPENDED: Final = _Kind(
    "hang_suspended",
    "Find out who suspended it (SIGSTOP, a debugger, Ctrl-Z in its terminal); kill -CONT lets it go on.",
    (Rung.RESTART,),
)
_ANY: Final = _Kind(
    "hang",
    "Look at the frame where it stands. If it hangs there again, the code around it waits or loops for ever;"
    " if elsewhere, look at memory, disk and native libraries.",
    (Rung.RESTART,),
)


def hang_finding(facts: HangFacts) -> Finding:
    """The stall as a finding; its rungs are those that fit the place, else a plain restart."""
    kind = _kind_of(facts)
    return Finding(
        id=kind.id,
        cause=f"It hung: {facts.words}.",
        remedy=kind.remedy,
        confidence=_CONFIDENCE,
        lines=facts.frames[:_MOST_LINES],
        source=_SOURCE,
        rungs=tuple(rung.value for rung in kind.rungs),
    )


def _kind_of(facts: HangFacts) -> _Kind:
    if facts.hang is Hang.STOPPED:
        return _SUSPENDED
    by_code = _BY_CODE.get(facts.code or "")
    return by_code or _BY_PHASE.get(facts.phase, _ANY)
