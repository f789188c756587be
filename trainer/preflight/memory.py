"""Whether the trainer's memory fits the machine and the container."""

from __future__ import annotations

from typing import Final

import psutil

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.memory_limit import read_limits
from trainer.environment.doctor.sizes import size
from trainer.preflight.outlook import Outlook, Survey
from trainer.preflight.question import Question

TITLE: Final = "Memory"
TIGHT: Final = 0.8  # an estimate may be off by so much
REMEDY: Final = (
    "Lower batch_size or the size of the model, train on fewer examples, end what else uses memory, or give "
    "the container more."
)


def look(question: Question, survey: Survey) -> list[Check]:
    """Compare with what is left of the container's limit, or of the machine's memory."""
    if survey.outlook is None:
        return []
    memory, limits = psutil.virtual_memory(), read_limits(question.root)
    room, whole, whose = memory.available, memory.total, "machine"
    if limits.memory is not None and limits.memory - (limits.used or 0) < room:
        room, whole, whose = max(0, limits.memory - (limits.used or 0)), limits.memory, "container"
    return [judge(survey.outlook, room=room, whole=whole, whose=whose)]


def judge(outlook: Outlook, *, room: int, whole: int, whose: str) -> Check:
    """Judge the need beside ``room`` bytes left of the ``whole`` of the machine or the container."""
    need = outlook.memory_bytes
    details = {
        "needed_bytes": need,
        "room_bytes": room,
        "whole_bytes": whole,
        "whose": whose,
        "is_measured": outlook.pace is not None,
    }
    how = f"The trainer takes {'' if outlook.pace is not None else 'about '}{size(need)}"
    left = f"{size(room)} of the {whose}'s {size(whole)} are left"
    if need > whole:
        found = f"{how}, more than the {whose} has ({size(whole)}): the kernel would kill it."
        return Check("memory", TITLE, Verdict.PROBLEM, found, REMEDY, details)
    if need > TIGHT * room:
        found = f"{how}, and {left}: it may be killed without a word in its log."
        return Check("memory", TITLE, Verdict.WARNING, found, REMEDY, details)
    return Check("memory", TITLE, Verdict.OK, f"{how}; {left}.", "", details)
