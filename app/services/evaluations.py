"""What the evaluations of a run found in detail, read from the run's folder.

Numbers that make curves are metrics; these are the rest, one file per
evaluated step: a classifier's confusion matrix, its labels, its calibration.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from app.errors import NotFound
from trainer.protocol import evaluation_files
from trainer.protocol.run_folder import RunPaths


def evaluated_steps(paths: RunPaths) -> list[int]:
    """The steps with details, ascending; none for tasks that have no more to say than numbers."""
    return evaluation_files.steps(paths)


def evaluation(paths: RunPaths, step: str) -> dict[str, Any]:
    """The details of one step: a number, ``latest`` or ``first``, with the steps before and after.

    Raises:
        NotFound: there are none; the hint names the nearest steps.
    """
    there = evaluation_files.steps(paths)
    if not there:
        raise NotFound(
            "This run has no evaluation with details.",
            hint="A text classifier has them from its first evaluation on.",
        )
    named = {"latest": there[-1], "first": there[0]}
    wanted = named.get(step, int(step) if step.isascii() and step.isdigit() and len(step) <= 18 else -1)
    if wanted not in there:
        raise NotFound(f"There is no evaluation at step {step[:40]}.", hint=_nearest(there, step, wanted))
    content = evaluation_files.load(paths, wanted)
    if content is None:
        raise NotFound(
            f"The details of step {wanted} cannot be read.", hint="The file is damaged; see other steps."
        )
    place = there.index(wanted)
    return {
        **content,
        "step": wanted,
        "previous_step": there[place - 1] if place else None,
        "next_step": there[place + 1] if place + 1 < len(there) else None,
    }


def _nearest(there: list[int], step: str, wanted: int) -> str:
    if wanted < 0:
        near = get_close_matches(step, ["latest", "first"], n=1)
        return f"Did you mean {near[0]}?" if near else "Write a whole number, latest or first."
    nearest = sorted(sorted(there, key=lambda one: abs(one - wanted))[:4])
    return f"The nearest are: {', '.join(map(str, nearest))}."
