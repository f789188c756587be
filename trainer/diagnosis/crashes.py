"""What a signal says about a crash of native code, when nobody wrote down a cause.

The generic words for a crash are in :mod:`trainer.diagnosis.exits`; here each signal is read with
what is known about the machine: a bus error is another matter where shared memory is full.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from trainer.diagnosis.catalogue import signatures
from trainer.diagnosis.evidence import Evidence
from trainer.diagnosis.exits import BUS_ERROR, INTEGER_DIVISION
from trainer.diagnosis.finding import Finding
from trainer.diagnosis.log_text import Log

_SIGILL, _SIGBUS, _SIGFPE, _SIGSEGV, _SIGXFSZ = 4, 7, 8, 11, 25
_BY_HEADER: Final = {
    "Segmentation fault": _SIGSEGV,
    "Bus error": _SIGBUS,
    "Illegal instruction": _SIGILL,
    "Floating point exception": _SIGFPE,
}
_BY_SIGNAL: Final = {
    _SIGILL: "illegal_instruction",
    _SIGBUS: BUS_ERROR.id,
    _SIGFPE: INTEGER_DIVISION.id,
    _SIGXFSZ: "file_too_large",
}
_HEADER: Final = re.compile(r"^Fatal Python error: ([A-Z][a-z ]+)")
_CURRENT: Final = re.compile(r"^Current thread 0x")
_FRAME: Final = re.compile(r'^  File "')
_SHARED: Final = "/dev/shm"  # noqa: S108 - only named
_LIKELY: Final = 0.7
_MOST_FRAMES: Final = 3
_DUMPED_FRAMES: Final = 100  # faulthandler shows no more of one thread
_FEW: Final = 12  # different places among so many frames: it goes round
_NO_ROOM_BYTES: Final = 4 << 20
_NO_ROOM_SHARE: Final = 0.02


def crash_reading(evidence: Evidence, log: Log) -> Finding | None:
    """What the signal, the dump and the machine say together; None where that is no more than a crash."""
    start = _header(log)
    number = evidence.signal
    if number is None and evidence.exit_code is None and start is not None:
        number = _BY_HEADER.get(log.lines[start].removeprefix("Fatal Python error: "))
    frames = _frames(log, start)
    if number in (_SIGSEGV, _SIGBUS) and _goes_round(frames):
        repeated = tuple(dict.fromkeys(frames))[:_FEW]
        return _reading("stack_overflow", log, start, repeated)
    if number == _SIGBUS and evidence.platform == "darwin":  # there it stands for any wild access as well
        return None if start is None else _reading("faulthandler_hdr", log, start, frames)
    if number == _SIGBUS:
        return _bus_error(evidence, log, start, frames)
    name = _BY_SIGNAL.get(number or 0)
    return None if name is None else _reading(name, log, start, frames)


def _bus_error(evidence: Evidence, log: Log, start: int | None, frames: tuple[str, ...]) -> Finding:
    """A bus error is a want of room where room is wanting."""
    free, total = evidence.shm_free_bytes, evidence.shm_total_bytes
    if free is not None and total and free < max(_NO_ROOM_BYTES, _NO_ROOM_SHARE * total):
        found = _reading("dl_bus", log, start, frames)
        cause = "Shared memory (/dev/shm) is full: there was no room for a page the trainer touched."
        return replace(found, cause=cause, lines=(f"{_SHARED}: {_room(free, total)}", *found.lines))
    if evidence.disk_free_bytes is not None and evidence.disk_free_bytes < _NO_ROOM_BYTES:
        found = _reading("disk_full", log, start, frames)
        cause = "The disk is full: there was no room for a page of a mapped file that the trainer touched."
        return replace(found, cause=cause, lines=("disk of the run folder: full", *found.lines))
    found = _reading(BUS_ERROR.id, log, start, frames)
    if free is not None and total:
        found = replace(found, lines=(*found.lines, f"{_SHARED} afterwards: {_room(free, total)}"))
    return found


def _reading(name: str, log: Log, start: int | None, frames: tuple[str, ...]) -> Finding:
    signature = signatures()[name]
    header = (log.lines[start],) if start is not None else ()
    return Finding(
        id=signature.id,
        cause=signature.cause,
        remedy=signature.remedy,
        confidence=_LIKELY,
        lines=tuple(line.strip() for line in (*header, *frames[:_MOST_FRAMES])),
        source=signature.source,
        rungs=tuple(rung.value for rung in signature.rungs),
    )


def _header(log: Log) -> int | None:
    """The line with which faulthandler began its last dump, unless the work went on behind it."""
    found = [index for index, line in enumerate(log.lines) if _HEADER.match(line)]
    return found[-1] if found and not log.went_on_after(found[-1]) else None


def _frames(log: Log, start: int | None) -> tuple[str, ...]:
    """The frames of the thread that crashed, innermost first."""
    if start is None:
        return ()
    current = next((i for i in range(start, len(log.lines)) if _CURRENT.match(log.lines[i])), len(log.lines))
    frames = []
    for line in log.lines[current + 1 :]:
        if not _FRAME.match(line):
            break
        frames.append(line)
    return tuple(frames)


def _goes_round(frames: tuple[str, ...]) -> bool:
    """Whether the same few places call each other as deep as a dump can show."""
    return len(frames) >= _DUMPED_FRAMES and len(set(frames)) <= _FEW


def _room(free_bytes: int, total_bytes: int) -> str:
    return f"{free_bytes / 2**20:.0f} of {total_bytes / 2**20:.0f} MiB free"
