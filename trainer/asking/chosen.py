"""Which checkpoint of a run is asked.  Only looks: to set a damaged one aside is for the trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from trainer.asking.faults import AskingError, Fault
from trainer.engine.manifests import Manifest, manifests, problem_with
from trainer.protocol.run_folder import RunPaths

BEST: Final = "best"
LAST: Final = "last"


def choose(paths: RunPaths, wish: str | None) -> Manifest:
    """The checkpoint called ``best``, ``last`` or by its step; None stands for the best, else the last.

    Raises:
        AskingError: there is no such checkpoint; names those there are.
    """
    known = manifests(paths)
    if not known:
        raise AskingError(
            Fault.CHECKPOINT,
            "This run has no checkpoint yet, so there is nothing to ask.",
            hint="Wait for the first one, or order one: the button Checkpoint of a run that is training.",
        )
    return _named(known, wish)


def verify(paths: RunPaths, chosen: Manifest) -> None:
    """Make sure that every byte of the checkpoint is as it was written; reads all of it.

    Raises:
        AskingError: it is damaged, or was removed meanwhile; names the others.
    """
    problem = problem_with(paths, chosen)
    if problem is not None:
        others = _steps(manifests(paths), but=chosen)
        raise AskingError(
            Fault.CHECKPOINT,
            f"{chosen.file} {problem}.",
            field="checkpoint",
            hint=f"Ask another one: {others}." if others else "Train the run again.",
        )


def file_of(paths: RunPaths, chosen: Manifest) -> Path:
    """Where the checkpoint lies."""
    return paths.checkpoints / chosen.file


def shown(chosen: Manifest, *, newest: Manifest) -> dict[str, Any]:
    """``{"step", "epoch", "file", "best", "last"}``, as answers name it."""
    return {
        "step": chosen.step,
        "epoch": chosen.epoch,
        "file": chosen.file,
        "best": chosen.best,
        "last": chosen.step == newest.step,
    }


def _named(known: list[Manifest], wish: str | None) -> Manifest:
    best = next((one for one in reversed(known) if one.best), None)
    if wish is None:
        return best or known[-1]
    if wish == LAST:
        return known[-1]
    if wish == BEST:
        if best is None:
            raise AskingError(
                Fault.CHECKPOINT,
                "No checkpoint is the best yet: the run has not been evaluated.",
                field="checkpoint",
                hint=f"Ask the last one, or one of the steps {_steps(known)}.",
            )
        return best
    if not (wish.isascii() and wish.isdigit() and len(wish) <= 18):
        raise AskingError(
            Fault.CHECKPOINT,
            f"{wish[:40]!r} names no checkpoint.",
            field="checkpoint",
            hint=f"Say best, last, or one of the steps {_steps(known)}.",
        )
    found = next((one for one in known if one.step == int(wish)), None)
    if found is None:
        raise AskingError(
            Fault.CHECKPOINT,
            f"There is no checkpoint of step {int(wish):,}; older ones are removed on the way.",
            field="checkpoint",
            hint=f"There are those of the steps {_steps(known)}.",
        )
    return found


def _steps(known: list[Manifest], *, but: Manifest | None = None) -> str:
    return ", ".join(str(one.step) for one in known if one != but)
