"""Python's tracebacks in a log: where they are, what they raised, and which ended the program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from trainer.diagnosis.log_text import Log

_HEADER: Final = re.compile(r"^(.*?)(?:\+ Exception Group )?Traceback \(most recent call last\):")
_EXCEPTION: Final = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?[A-Z_]\w*(?::|$| \()")
_NEXT_OF_CHAIN: Final = re.compile(
    r"(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception):"
)
_NOISE_BEFORE: Final = re.compile(
    r"^Exception ignored (?:in|while|on)|^Exception in thread|Logging error|^Error in atexit|wandb"
)
_SECONDARY: Final = re.compile(
    r"(?:ChildFailedError|ConnectionResetError|BrokenPipeError|ConnectionRefusedError"
    r"|ProcessExitedException"
    r"|ProcessRaisedException|CalledProcessError|DistNetworkError|EOFError$|EOFError: *$)"
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

    def holds(self, index: int) -> bool:
        """Whether the line belongs to it."""
        return self.first <= index <= self.last


def chains_of(log: Log) -> list[Chain]:
    """All tracebacks of a log; such as follow each other as causes make one chain."""
    chains: list[Chain] = []
    index = 0
    while index < len(log.lines):
        header = _HEADER.match(log.lines[index])
        if header is None:
            index += 1
            continue
        end, exception = _read_one(log, index, header.group(1))
        previous = chains[-1] if chains else None
        if previous is not None and _is_continued(log, previous.last, index):
            chains[-1] = Chain(
                previous.first,
                end,
                (*previous.exceptions, *([exception] if exception else [])),
                previous.noise,
            )
        else:
            before = log.lines[max(0, index - _LOOK_BACK) : index]
            noise = any(_NOISE_BEFORE.search(line) for line in before)
            chains.append(Chain(index, end, (exception,) if exception else (), noise))
        index = end + 1
    return chains


def main_chain(log: Log, chains: list[Chain]) -> Chain | None:
    """The traceback that ended the program: the last that is neither survived nor a consequence."""
    serious = [
        chain
        for chain in chains
        if not chain.noise and chain.exceptions and not log.went_on_after(chain.last)
    ]
    own = [chain for chain in serious if not _SECONDARY.search(log.lines[chain.exceptions[-1]])]
    chosen = own or serious
    return chosen[-1] if chosen else None


def is_interrupt(log: Log, chain: Chain) -> bool:
    """Whether somebody pressed Ctrl-C."""
    return any("KeyboardInterrupt" in log.lines[index] for index in chain.exceptions)


def _read_one(log: Log, start: int, prefix: str) -> tuple[int, int | None]:
    """Last line of one traceback, and the line of its exception unless a kill cut it off."""
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
            return _message_end(log, ahead, prefix), ahead
    return min(index, len(log.lines) - 1), None


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
