"""The honest answer: something died, and no signature fits."""

from __future__ import annotations

import re
from typing import Final

from trainer.diagnosis.evidence import Evidence, signal_name
from trainer.diagnosis.finding import UNKNOWN, Finding
from trainer.diagnosis.log_text import Log
from trainer.diagnosis.memory import killed_beside_it
from trainer.diagnosis.tracebacks import Chain

_LINE_CHARACTERS: Final = 400
_MOST_STRANGE: Final = 0.1
_MEANINGFUL: Final = re.compile(
    r"\b(?:error|fatal|panic(?:ked)?|abort(?:ed|ing)?|segmentation fault|bus error|killed"
    r"|assert(?:ion)? .*failed|failed|fault|timed out|core dumped|giving up|\w+(?:Error|Exception)"
    r"|SIG[A-Z]{3,4})\b"
    r"|death signal|^\[E\d* ",
    re.I,
)
_TALK: Final = re.compile(
    r"\b(?:no|0|zero|without)\b[^.]{0,20}\b(?:errors?|failed|failures?)\b|\bINFO\b|\bDEBUG\b", re.I
)
# announce that something follows, and say nothing themselves
_BANNER: Final = re.compile(
    r"Error executing job with overrides|\bException in (?:task|thread)\b|[{\[(]$|^\s*(?:raise"
    r"|return|assert|self\.)\b|\w\($"
)
_WARNING: Final = re.compile(r"\bWARN(?:ING)?\b(?!.*death signal)")
_FRAME: Final = re.compile(r'File "[^"]+", line \d+')
_IN_WORDS: Final = {
    4: "It met an instruction this processor does not have.",
    6: "Native code gave up (abort); its last words, if any, stand right above the end of the log.",
    7: "It touched memory that could not be brought in: shared memory or a mapped file that is full or "
    "was cut short.",
    8: "Native code divided by zero.",
    9: "Somebody ended it at once: the kernel for want of memory, or a person. There is no proof that it "
    "was memory.",
    11: "Native code touched memory that was not its own.",
    15: "Somebody asked it to end: a scheduler, a shutdown, or a person.",
}
_SIGKILL: Final = 9
_REMEDY: Final = (
    "Read the lines below, then the log just above them. If it happens again at the same step, look at the "
    "examples of that step; if at different ones, at memory and at native libraries."
)
_NO_WORDS: Final = (
    "Start it again and watch its memory and its disk: it left no words. If it ends at the same step, look "
    "at the examples of that step."
)
_REMEDIES: Final = {
    9: "Look at memory first: free -h, and dmesg for 'Out of memory'. If there was plenty, ask who else uses "
    "this machine. Then start it again.",
    15: "Find out who asked: the cluster, a shutdown, a person. Then start it again.",
}


def unknown(evidence: Evidence, log: Log, chain: Chain | None) -> Finding:
    """What can be said without knowing the cause: status in words, first meaningful line, exceptions."""
    parts = [_status_in_words(evidence)]
    lines = []
    first = _first_meaningful(log, chain)
    if first is not None:
        lines.append(first)
    if chain is not None and chain.exceptions:
        last, cause = log.lines[chain.exceptions[-1]], log.lines[chain.exceptions[0]]
        lines += [cause, last]
        parts.append(
            f"The last exception was {_shown(last)}"
            + (f", first caused by {_shown(cause)}" if cause != last else "")
            + "."
        )
    elif not lines:
        readable = [line for line in log.lines if _is_readable(line)]
        lines += _cut_traceback(log) or readable[-2:]
        if not readable and log.text.strip():
            parts.append("This file holds no text: it may not be the log.")
    if evidence.phase:
        parts.append(f"It was {evidence.phase} at the time.")
    return Finding(
        id=UNKNOWN,
        cause=" ".join(["No known cause fits.", *[part for part in parts if part]]),
        remedy=_REMEDIES.get(evidence.signal or 0, _REMEDY if lines else _NO_WORDS),
        confidence=0.0,
        lines=tuple(dict.fromkeys(line.strip()[:_LINE_CHARACTERS] for line in lines)),
    )


def _status_in_words(evidence: Evidence) -> str:
    if evidence.signal is not None:
        words = _IN_WORDS.get(evidence.signal, "")
        beside = killed_beside_it(evidence) if evidence.signal == _SIGKILL else ""
        said = f"A signal ({signal_name(evidence.signal)}) ended it. {beside or words}"
        return said.strip()
    return "" if evidence.exit_code is None else f"It ended with exit code {evidence.exit_code}."


def _first_meaningful(log: Log, chain: Chain | None) -> str | None:
    """The first line that reports trouble and was not survived."""
    for index, line in enumerate(log.lines[log.survived_until :], log.survived_until):
        if chain is not None and index >= chain.first:
            break
        if any(talk.search(line) for talk in (_BANNER, _TALK, _FRAME)) or _WARNING.search(line):
            continue
        if _MEANINGFUL.search(line) and _is_readable(line):
            return line
    return None


def _is_readable(line: str) -> bool:
    """Whether a person could read it: not empty, and hardly anything that is no character."""
    strange = sum(not char.isprintable() or char == "\ufffd" for char in line.strip().replace("\t", ""))
    return bool(line.strip()) and strange <= _MOST_STRANGE * len(line)


def _cut_traceback(log: Log) -> list[str]:
    """Header and last frame of a traceback whose end was never written."""
    starts = [i for i, line in enumerate(log.lines) if "Traceback (most recent call last)" in line]
    if not starts or log.went_on_after(starts[-1]):
        return []
    frames = [line for line in log.lines[starts[-1] :] if _FRAME.search(line)]
    return [log.lines[starts[-1]], *frames[-1:]]


def _shown(line: str) -> str:
    return line.strip()[:200]
