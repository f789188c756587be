"""Python's tracebacks in a log: where they are, what they raised, and which ended the program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from trainer.diagnosis.log_text import Log

_HEADER: Final = re.compile(r"^(.*?)(\+ Exception Group )?Traceback \(most recent call last\):")
_FRAME: Final = re.compile(r'^(.*?)  File "[^"]+", line \d+, in \S')
_OF_GROUP: Final = re.compile(r"^\s*\| ((?:[A-Za-z_][\w.]*\.)?[A-Z_]\w*(?:Error|Exception|Exit|Warning)\b.*)")
_RANK: Final = re.compile(r"rank\W{0,2}\d+|\bdefault\d+")
_EXCEPTION: Final = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?[A-Z_]\w*(?::|$| \()")
_NEXT_OF_CHAIN: Final = re.compile(
    r"(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception):"
)
_NOISE_BEFORE: Final = re.compile(
    r"^Exception ignored (?:in|while|on)|^Exception in thread|Logging error|^Error in atexit|^wandb: "
)
_SECONDARY: Final = re.compile(
    r"(?:ChildFailedError|ConnectionResetError|BrokenPipeError|ConnectionRefusedError"
    r"|ProcessExitedException"
    r"|ProcessRaisedException|CalledProcessError|DistNetworkError|EOFError$|EOFError: *$"
    r"|DistBackendError|[Cc]onnection (?:was )?(?:closed|reset) by (?:remote )?peer|remote process exited)"
)
_LOOK_BACK: Final = 3
_GAP: Final = 4


@dataclass(frozen=True)
class Chain:
    """Exceptions raised one because of the other, first cause first; lines ``first..last`` of the log."""

    first: int
    last: int
    exceptions: tuple[int, ...]  # lines that name them
    noise: bool  # printed while tidying up, or by a thread
    prefix: str = ""  # what stands before each of its lines: a rank, a time

    def holds(self, index: int) -> bool:
        """Whether the line belongs to it."""
        return self.first <= index <= self.last


def chains_of(log: Log) -> list[Chain]:
    """All tracebacks of a log; such as follow each other as causes make one chain."""
    chains: list[Chain] = []
    index = 0
    while index < len(log.lines):
        prefix = _prefix_of_start(log, index)
        if prefix is None:
            index += 1
            continue
        end, raised = _read_one(log, index, prefix)
        previous = chains[-1] if chains else None
        if previous is not None and _is_continued(log, previous.last, index):
            chains[-1] = Chain(
                previous.first,
                end,
                (*previous.exceptions, *raised),
                previous.noise,
                previous.prefix,
            )
        else:
            before = log.lines[max(0, index - _LOOK_BACK) : index]
            noise = any(_NOISE_BEFORE.search(line) for line in before)
            chains.append(Chain(index, end, raised, noise, prefix))
        index = end + 1
    return chains


def main_chain(log: Log, chains: list[Chain]) -> Chain | None:
    """The traceback that ended the program: the last that is neither survived nor a consequence.

    Of several ranks the first to fall counts: the others fall because it is gone.
    """
    serious = [
        chain
        for chain in chains
        if not chain.noise and chain.exceptions and not log.went_on_after(chain.last)
    ]
    own = [chain for chain in serious if not _SECONDARY.search(log.lines[chain.exceptions[-1]])]
    chosen = own or serious
    if not chosen:
        return None
    ranked = [chain for chain in chosen if _RANK.search(chain.prefix)]
    return ranked[0] if chosen[-1] in ranked else chosen[-1]


def is_interrupt(log: Log, chain: Chain) -> bool:
    """Whether somebody pressed Ctrl-C."""
    return any("KeyboardInterrupt" in log.lines[index] for index in chain.exceptions)


def _prefix_of_start(log: Log, index: int) -> str | None:
    """What stands before a traceback that starts here; None where none does.

    A log that begins, or is cut, inside a traceback has its frames without the header.
    """
    line = log.lines[index]
    header = _HEADER.match(line)
    if header is not None:
        return f"{header[1]}| " if header[2] else header[1]
    frame = _FRAME.match(line)
    return None if frame is None else frame[1]


def _read_one(log: Log, start: int, prefix: str) -> tuple[int, tuple[int, ...]]:
    """Last line of one traceback, and the lines of its exceptions, none if a kill cut it off."""
    index = start + 1
    while index < len(log.lines):
        line = log.lines[index].removeprefix(prefix)
        if line and not line[0].isspace() and not line.startswith(("^", "|", "+")):
            break
        if not line and not _more_frames(log, index, prefix):
            break
        index += 1
    for ahead in range(index, min(index + 2, len(log.lines))):
        if _EXCEPTION.match(log.lines[ahead].removeprefix(prefix).strip("| ")):
            end = _message_end(log, ahead, prefix)
            return end, (*_first_of_group(log, ahead, end), ahead)
    return min(index, len(log.lines) - 1), ()


def _first_of_group(log: Log, start: int, end: int) -> tuple[int, ...]:
    """The first exception inside an exception group, its root as far as one can tell."""
    inside = (index for index in range(start + 1, end + 1) if _OF_GROUP.match(log.lines[index]))
    return tuple(inside)[:1] if "Group" in log.lines[start] else ()


def _more_frames(log: Log, index: int, prefix: str) -> bool:
    return index + 1 < len(log.lines) and log.lines[index + 1].removeprefix(prefix).startswith(
        ("  File", "    ")
    )


def _message_end(log: Log, index: int, prefix: str) -> int:
    """A message may go on for lines; it ends before a blank line, a bar or the next traceback."""
    end, advancing = index, log.advancing
    for ahead in range(index + 1, min(index + 40, len(log.lines))):
        line = log.lines[ahead].removeprefix(prefix)
        if not line.strip() or ahead in advancing or _HEADER.match(line) or _NEXT_OF_CHAIN.search(line):
            break
        end = ahead
    return end


def _is_continued(log: Log, last: int, start: int) -> bool:
    between = log.lines[last + 1 : start]
    if len(between) <= 2 * _GAP and any(_NEXT_OF_CHAIN.search(line) for line in between):
        return True
    return len(between) <= _GAP and any("Original Traceback" in line for line in log.lines[last : start + 1])
