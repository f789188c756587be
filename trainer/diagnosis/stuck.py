"""Where a trainer stood that did not die but hang: read from a dump of its threads' stacks.

Dumps are faulthandler's (SIGUSR1, ``dump_traceback``) or py-spy's.  The main thread's frames are tried from
the innermost outwards; the first family that knows a frame is the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from trainer.diagnosis.catalogue import compiled, signatures
from trainer.diagnosis.evidence import Evidence
from trainer.diagnosis.finding import Finding, Signature
from trainer.diagnosis.log_text import Log

_THREAD: Final = re.compile(
    r"^(?:Current thread|Thread) 0x[0-9a-f]+ .*\(most recent call first\)|^Thread \d+ \((?:idle|active)"
)
_MAIN: Final = re.compile(r'"MainThread"')
_FRAME: Final = re.compile(
    r'^  File "(?P<file>.*)", line (?:\d+|\?\?\?) in (?P<function>.+)$'
    r"|^ +(?P<call>[\w.<>]+) \((?P<place>[^():]+\.py):\d+\)$"
)
_CRASH: Final = re.compile(r"^(?:Fatal Python error|Windows fatal exception): ", re.M)
# how a process ends that hung: killed, asked to end, aborted for its core, or ended by timeout(1)
_ENDED_FROM_OUTSIDE: Final = frozenset({6, 9, 15})
_TIMEOUT_CODE: Final = 124
_MOST_FRAMES: Final = 6
_CONFIDENCE: Final = 0.6


@dataclass(frozen=True)
class _Frame:
    line: str
    words: str  # file and function


def stuck_where(evidence: Evidence, log: Log) -> Finding | None:
    """The place it hung at; None without a dump, after a crash, or where no family knows a frame."""
    dumped = [index for index, line in enumerate(log.lines) if _THREAD.match(line)]
    if not dumped or (not evidence.stacks and log.went_on_after(dumped[-1])):
        return None
    if evidence.exit_code not in (None, _TIMEOUT_CODE):
        return None
    if evidence.signal is not None and evidence.signal not in _ENDED_FROM_OUTSIDE:
        return None
    text = evidence.stacks or evidence.log
    if _CRASH.search(text):
        return None
    frames = _main_thread(text)
    # a dump in a log may be of a healthy moment: only a wait says that it hung
    if not frames or (not evidence.stacks and not _waits(frames[0])):
        return None
    for index, frame in enumerate(frames):
        for signature in signatures().values():
            if signature.in_stacks and compiled(signature.pattern).search(frame.words):
                return _finding(signature, frames[index : index + _MOST_FRAMES])
    return None


def _main_thread(text: str) -> list[_Frame]:
    """The newest dump's main thread, innermost frame first: py-spy names it, faulthandler writes it last."""
    threads: list[tuple[bool, list[_Frame]]] = []
    for line in text.splitlines():
        if _THREAD.match(line):
            threads.append((bool(_MAIN.search(line)), []))
        elif threads and (match := _FRAME.match(line)):
            words = f"{match['file'] or match['place']} {match['function'] or match['call']}"
            threads[-1][1].append(_Frame(line.strip(), words))
    named = [frames for is_main, frames in threads if is_main and frames]
    others = [frames for _, frames in threads if frames]
    return (named or others or [[]])[-1]


def _waits(frame: _Frame) -> bool:
    return (
        re.search(r"(?:threading|queue|connection|selectors|socket|synchronize|popen_fork)\.py ", frame.words)
        is not None
    )


def _finding(signature: Signature, frames: list[_Frame]) -> Finding:
    return Finding(
        id=signature.id,
        cause=signature.cause,
        remedy=signature.remedy,
        confidence=_CONFIDENCE,
        lines=tuple(frame.line for frame in frames),
        source=signature.source,
        rungs=tuple(rung.value for rung in signature.rungs),
    )
