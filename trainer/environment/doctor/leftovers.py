"""Trainers and supervisors of this instance that nobody supervises any more, as a check."""

from __future__ import annotations

from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.leftover_processes import Leftover, find
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Leftover processes"


def look(surroundings: Surroundings) -> list[Check]:
    """Look through the processes of this user."""
    return [judge(find(surroundings.runs_dir))]


def judge(found: list[Leftover]) -> Check:
    """Judge what was ``found``; the details name every process, so that exactly those can be ended."""
    details = {"processes": [one.to_json() for one in found]}
    if not found:
        return Check("leftovers", TITLE, Verdict.OK, "No trainer runs without its supervisor.", "", details)
    runs = sorted({one.run_id for one in found})
    count = "1 process is" if len(found) == 1 else f"{len(found)} processes are"
    sentence = (
        f"{count} left over from {', '.join(runs)}: they use cores and memory, and nobody watches them."
    )
    remedy = (
        "End them with the button on the doctor page, or resume the run: its new supervisor ends them first. "
        "Pids: " + ", ".join(str(one.pid) for one in found)
    )
    return Check("leftovers", TITLE, Verdict.WARNING, sentence, remedy, details)
