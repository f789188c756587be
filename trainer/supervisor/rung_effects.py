"""What each rung of the fallback ladder changes for the next attempt, or that it cannot help any more."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.rungs import WORDS, Rung

if TYPE_CHECKING:  # declarations bring pydantic, which a supervisor that never retries need not carry
    from trainer.recipes.declaration import Remedy

log = logging.getLogger(__name__)
PASSING: Final = frozenset({Rung.RESTART, Rung.PREVIOUS_CHECKPOINT})  # in force for one attempt only
OF_ENVIRONMENT: Final = PASSING | {Rung.THREADS, Rung.OPEN_FILES}  # what needs no recipe
OPEN_FILES: Final = "RLIMIT_NOFILE"
CHECKPOINT: Final = "checkpoint"
_DUPLICATE_OPENMP: Final = "omp_duplicate"
_MOST_OPEN_FILES: Final = {"darwin": 10_240}  # more is refused there, whatever the limit says
_MOST_OPEN_FILES_ELSEWHERE: Final = 65_536
_THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_MAX_THREADS")


@dataclass(frozen=True)
class Effect:
    """What becomes other; ``changes`` holds ``[before, after]`` per name."""

    title: str
    changes: dict[str, list[Any]] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    changes_numbers: bool = False
    is_unsafe: bool = False


@dataclass(frozen=True)
class Circumstances:
    """What an effect depends on.

    Attributes:
        root: id of the finding that asks for the rung.
        plan: of the attempt that has died.
        params: complete parameters it trained with.
        environment: variables it was started with.
        remedies: what the recipe declares.
        platform: ``sys.platform`` of the machine that trains.
        open_files: soft and hard limit of open files; a hard limit of -1 is none.
        device: where it trained, in the trainer's words; None while it had not said so.
        checkpoints: steps of the newest verified checkpoint and of the one before, as far as there are any.
    """

    root: str
    plan: AttemptPlan
    params: Mapping[str, Any]
    environment: Mapping[str, str]
    remedies: Mapping[Rung, Remedy]
    platform: str
    open_files: tuple[int, int]
    device: str | None = None
    checkpoints: tuple[int, ...] = ()


def effect_of(rung: Rung, given: Circumstances) -> Effect | None:
    """What ``rung`` changes; None when it cannot help here, or is in force already."""
    if rung is Rung.RESTART:
        return Effect(WORDS[rung].title)
    if rung is Rung.PREVIOUS_CHECKPOINT:
        return _previous_checkpoint(given)
    if rung is Rung.THREADS:
        return _one_thread(given)
    if rung is Rung.OPEN_FILES:
        return _more_open_files(given)
    if rung is Rung.DUPLICATE_OPENMP:
        return _let_two_openmps_live(given)
    if rung is Rung.CPU and (given.device or "").startswith("cpu"):
        return None
    return _of_recipe(rung, given)


def _previous_checkpoint(given: Circumstances) -> Effect | None:
    if len(given.checkpoints) < 2:
        return None
    newest, earlier = given.checkpoints[:2]
    return Effect(WORDS[Rung.PREVIOUS_CHECKPOINT].title, {CHECKPOINT: [newest, earlier]})


def _one_thread(given: Circumstances) -> Effect | None:
    if given.root == _DUPLICATE_OPENMP:  # the runtime refuses while it is loaded, before it has any threads
        return None
    names = _THREADS + (("VECLIB_MAXIMUM_THREADS",) if given.platform == "darwin" else ())
    return _variables(
        WORDS[Rung.THREADS].title,
        dict.fromkeys(names, "1") | {"OMP_WAIT_POLICY": "PASSIVE"},
        given,
    )


def _more_open_files(given: Circumstances) -> Effect | None:
    soft, hard = given.open_files
    most = _MOST_OPEN_FILES.get(given.platform, _MOST_OPEN_FILES_ELSEWHERE)
    wanted = most if hard < 0 else min(hard, most)
    if given.plan.has(Rung.OPEN_FILES) or wanted <= soft:
        return None
    return Effect(WORDS[Rung.OPEN_FILES].title, {OPEN_FILES: [soft, wanted]})


def _let_two_openmps_live(given: Circumstances) -> Effect | None:
    """Only on macOS, and only when two runtimes met although mining has a process of its own."""
    if given.platform != "darwin" or given.root != _DUPLICATE_OPENMP:
        return None
    remedy = given.remedies.get(Rung.MINING_PROCESS)
    if remedy is None or _changed(Rung.MINING_PROCESS, remedy, given):
        return None
    words = WORDS[Rung.DUPLICATE_OPENMP]
    found = _variables(words.title, {"KMP_DUPLICATE_LIB_OK": "TRUE"}, given)
    if found is None:
        return None
    return Effect(words.title, found.changes, {}, found.environment, is_unsafe=words.is_unsafe)


def _variables(title: str, wanted: Mapping[str, str], given: Circumstances) -> Effect | None:
    before = {name: given.environment.get(name) for name in wanted}
    changes: dict[str, list[Any]] = {
        name: [before[name], value] for name, value in wanted.items() if before[name] != value
    }
    return Effect(title, changes, environment=dict(wanted)) if changes else None


def _of_recipe(rung: Rung, given: Circumstances) -> Effect | None:
    remedy = given.remedies.get(rung)
    if remedy is None:
        return None
    changed = _changed(rung, remedy, given)
    if not changed:
        return None
    return Effect(
        remedy.title,
        {name: [given.params.get(name), value] for name, value in changed.items()},
        params=changed,
        changes_numbers=remedy.changes_numbers,
    )


def _changed(rung: Rung, remedy: Remedy, given: Circumstances) -> dict[str, Any]:
    """What the recipe would change; nothing when it cannot help, or fails over these parameters."""
    try:
        changed = remedy.change(given.params) or {}
    except Exception:  # a recipe's mistake must not cost the run its end
        log.exception("the remedy %s of the recipe failed", rung.value)
        return {}
    return {name: value for name, value in changed.items() if given.params.get(name) != value}
