"""The fallback ladder: whether a run that died is tried again, and with which remedy.

One pure function, :func:`decide`, from the attempts so far to the next one or
to "give up" in words.  The least invasive rung that the finding names comes
first; a rung is tried once for the same root at the same step; and so many
launches without progress end it.  Which death leads where: ``docs/ladder.md``.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from trainer.diagnosis.finding import UNKNOWN, Finding
from trainer.protocol.attempt_plan import AttemptPlan, RungTaken
from trainer.protocol.policy import default_of
from trainer.protocol.rungs import Rung
from trainer.supervisor.rung_effects import OF_ENVIRONMENT, PASSING, Circumstances, Effect, effect_of

if TYPE_CHECKING:
    from trainer.recipes.declaration import Remedy

MAX_ATTEMPTS: Final[int] = default_of("max_attempts")
FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 60.0
_FURTHER_SHARE, _FURTHER_STEPS = 0.1, 10  # beyond this without a checkpoint counts as progress
_SAME_STEPS: Final = 1
_CAUSE_CHARACTERS: Final = 200
_PROPER: Final = frozenset({"Apple", "Intel", "Metal", "Python", "Windows"})

# Deaths that nothing but other circumstances can explain: the same again may well succeed.
_RESTART_MAY_CURE: Final = frozenset(
    {
        "bus_error",
        "cuda_illegal_memory",
        "dl_killed",
        "dl_timeout",
        "nccl_error",
        "nccl_timeout",
        "port_in_use",
        "sqlite_locked",
    }
)
# What is left to say of a native crash without a known cause.
_CRASHES: Final = frozenset({UNKNOWN, "faulthandler_hdr", "terminate_called", "leaked_semaphore"})
_CRASH_SIGNALS: Final = frozenset(
    int(number) for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGKILL)
)
_NEVER: Final = frozenset({"disk_full"})  # no remedy makes room, and every attempt would write


@dataclass(frozen=True)
class PastAttempt:
    """One attempt that has ended.

    Attributes:
        plan: what it was launched with.
        state: finished, stopped or failed.
        reason: its end in words.
        from_step: the step it began at.
        step: the last step it reported.
        checkpoints: steps of the newest verified checkpoint at its end and of the one before, if any.
        findings: why it failed, best first.
        signal: that ended it, by its number on this machine.
        is_stall: its policy ended it because it did not advance.
        is_wish: a person asked for the end.
        is_gone: nothing of it is left running.
        device: where it trained, in its own words.
        environment: variables it was started with.
    """

    plan: AttemptPlan
    state: str
    reason: str
    from_step: int = 0
    step: int = 0
    checkpoints: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()
    signal: int | None = None
    is_stall: bool = False
    is_wish: bool = False
    is_gone: bool = True
    device: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """What ended it: the id of the best finding."""
        return self.findings[0].id if self.findings else UNKNOWN

    @property
    def cause(self) -> str:
        """What ended it, in words."""
        known = self.findings and self.root not in _CRASHES
        return self.findings[0].cause if known else self.reason


@dataclass(frozen=True)
class Ground:
    """What the ladder stands on: the run's parameters, recipe and policy, and the machine.

    ``retries_stalls`` says that the policy ends a stalled attempt in order to
    try again.  ``open_files`` are the soft and the hard limit, -1 for none.
    """

    params: Mapping[str, Any]
    remedies: Mapping[Rung, Remedy]
    max_attempts: int = MAX_ATTEMPTS
    retries_stalls: bool = False
    platform: str = "linux"
    open_files: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Retry:
    """Launch again as ``plan`` says, after ``wait_s``; ``words`` for the state ``retrying``."""

    plan: AttemptPlan
    wait_s: float
    words: str


@dataclass(frozen=True)
class GiveUp:
    """Launch no more, because of ``reason``; ``is_exhausted`` when the ladder had been climbed."""

    reason: str
    is_exhausted: bool = False


def max_attempts(policy: Mapping[str, Any]) -> int:
    """Most launches without progress in between, >= 1; 1 retries nothing."""
    asked = policy.get("max_attempts")
    if isinstance(asked, int) and not isinstance(asked, bool) and asked >= 1:
        return asked
    return MAX_ATTEMPTS


def decide(
    history: Sequence[PastAttempt], ground: Ground, *, first_wait_s: float = FIRST_WAIT_S
) -> Retry | GiveUp:
    """What comes after the last attempt of ``history``.

    Args:
        history: the attempts of this supervisor, oldest first; at least one.
        ground: the run and the machine.
        first_wait_s: pause before the first retry; it doubles with every launch without progress.
    """
    last = history[-1]
    refusal = _refusal(last, ground)
    if refusal is not None:
        return refusal
    wanted = _wanted(last)
    if not wanted:
        return GiveUp("a further attempt would end the same way")
    count = launches_without_progress(history)
    if count >= ground.max_attempts:
        again = "launch" if count == 1 else "launches without progress"
        return GiveUp(f"{count} {again}, and the run's policy allows no more", is_exhausted=count > 1)
    given = _circumstances(last, ground)
    for rung in wanted:
        if _was_tried(rung, history):
            continue
        effect = effect_of(rung, given)
        if effect is not None:
            return _retry(rung, effect, last, count=count, ground=ground, first_wait_s=first_wait_s)
    return GiveUp(_nothing_left(history), is_exhausted=len(history) > 1)


def asks_recipe(last: PastAttempt) -> bool:
    """Whether a remedy of the recipe may be wanted after this attempt."""
    if last.state != "failed" or last.is_wish:
        return False
    return bool(set(_wanted(last)) - OF_ENVIRONMENT)


def launches_without_progress(history: Sequence[PastAttempt]) -> int:
    """How many launches there were since, and with, the last one that got further than all before it.

    Getting further means a newer verified checkpoint, or, where none is written, clearly more steps.
    """
    count, furthest_checkpoint, furthest_step = 0, 0, 0
    for past in history:
        checkpoint = max(past.checkpoints, default=0)
        clearly = max(_FURTHER_STEPS, math.ceil(_FURTHER_SHARE * furthest_step))
        advanced = checkpoint > max(furthest_checkpoint, past.from_step)
        advanced = advanced or past.step > max(furthest_step, past.from_step) + clearly
        count = 1 if advanced else count + 1
        furthest_checkpoint = max(furthest_checkpoint, checkpoint)
        furthest_step = max(furthest_step, past.step)
    return count


def _refusal(last: PastAttempt, ground: Ground) -> GiveUp | None:
    """Why nothing may be launched again, whatever the cause of the death."""
    if last.state != "failed":
        return GiveUp(f"it is {last.state}")
    if last.is_wish:
        return GiveUp("somebody asked for its end")
    if ground.max_attempts <= 1:
        return GiveUp("the run's policy allows one attempt")
    if last.is_stall and not ground.retries_stalls:
        return GiveUp("the run's policy ends it at a stall")
    if last.root in _NEVER:
        return GiveUp("no further attempt can help before a person has made room")
    if not last.is_gone:
        return GiveUp("processes of it are still there", is_exhausted=True)
    return None


def _wanted(last: PastAttempt) -> list[Rung]:
    """The rungs that fit this death, least invasive first; none for one that would come again."""
    known = {rung.value for rung in Rung}
    best = last.findings[0] if last.findings else None
    named = {Rung(rung) for rung in best.rungs if rung in known} if best is not None else set()
    if last.root == "omp_duplicate":
        named.add(Rung.DUPLICATE_OPENMP)
    if not last.is_stall and _restart_may_cure(last):
        named.add(Rung.RESTART)
    ordered = [rung for rung in Rung if rung in named]
    if last.is_stall and Rung.RESTART not in ordered:
        ordered.append(Rung.RESTART)  # behind whatever is known to help better
    return ordered


def _restart_may_cure(last: PastAttempt) -> bool:
    return last.root in _RESTART_MAY_CURE or (last.root in _CRASHES and last.signal in _CRASH_SIGNALS)


def _was_tried(rung: Rung, history: Sequence[PastAttempt]) -> bool:
    """Whether ``rung`` was the answer to the same root at the same step before."""
    last = history[-1]
    for past in history:
        newest, because = past.plan.newest, past.plan.because
        if newest is None or because is None or newest.rung != rung:
            continue
        if because["id"] == last.root and abs(because["step"] - last.step) <= _SAME_STEPS:
            return True
    return False


def _circumstances(last: PastAttempt, ground: Ground) -> Circumstances:
    return Circumstances(
        root=last.root,
        plan=last.plan,
        params={**ground.params, **last.plan.params},
        environment=last.environment,
        remedies=ground.remedies,
        platform=ground.platform,
        open_files=ground.open_files,
        device=last.device,
        checkpoints=last.checkpoints,
    )


def _retry(
    rung: Rung, effect: Effect, last: PastAttempt, *, count: int, ground: Ground, first_wait_s: float
) -> Retry:
    number = last.plan.attempt + 1
    taken = RungTaken(
        rung=rung.value,
        title=effect.title,
        reason=last.cause,
        attempt=number,
        changes_numbers=effect.changes_numbers,
        is_unsafe=effect.is_unsafe,
        changes=effect.changes,
    )
    plan = AttemptPlan(
        attempt=number,
        rungs=(*lasting(last.plan), taken),
        params={**last.plan.params, **effect.params},
        environment={**last.plan.environment, **effect.environment},
        because={
            "id": last.root, "cause": last.cause, "step": last.step, "attempt": last.plan.attempt,
        },
    )  # fmt: skip
    wait_s = min(LONGEST_WAIT_S, first_wait_s * 2 ** (count - 1))
    place = f"attempt {number} of {ground.max_attempts}"
    if number != count + 1:  # progress has given it new launches
        place = f"attempt {number} ({count + 1} of {ground.max_attempts} without progress)"
    words = f"{place} in {wait_s:g} s: {effect.title}, because {_inside_a_sentence(last.cause)}"
    return Retry(plan, wait_s, words)


def lasting(plan: AttemptPlan) -> tuple[RungTaken, ...]:
    """The rungs of ``plan`` that stay in force for the attempts after it."""
    return tuple(taken for taken in plan.rungs if taken.rung not in {rung.value for rung in PASSING})


def _nothing_left(history: Sequence[PastAttempt]) -> str:
    newest = history[-1].plan.newest
    if newest is None:
        return "this recipe has no remedy for it"
    return f"it died the same way after '{newest.title}', and no other remedy is left"


def _inside_a_sentence(cause: str) -> str:
    """A cause as it reads after "because": begun small unless by a name, and without its full stop."""
    text = " ".join(cause.split()).removesuffix(".")
    if len(text) > _CAUSE_CHARACTERS:
        text = text[: _CAUSE_CHARACTERS - 3].rstrip() + "..."
    first = text.split(" ", 1)[0]
    is_word = first == "A" or (first[:1].isupper() and first[1:].islower() and first not in _PROPER)
    return text[:1].lower() + text[1:] if is_word else text
