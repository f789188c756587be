"""Regular expressions a user has written for the output of a script, each within a budget of time.

Python's own ``re`` cannot be stopped, and one ``(a+)+$`` would hold the
supervisor for ever; the engine used here ends a search that takes too long. A
pattern that does so again and again is switched off for the rest of the
attempt.
"""

from __future__ import annotations

import importlib
import time
from typing import Any, Final

SEARCH_S: Final = 0.01  # of one search; a sound pattern takes a few microseconds
CHECK_S: Final = 0.05
MAX_LENGTH: Final = 500
MAX_STRIKES: Final = 3
PLACES: Final = frozenset({"step", "total_steps", "epoch", "num_epochs"})
_MAX_LINE: Final = 2_000
_SLOW_SHARE: Final = 0.5  # of the time since it was first used that a pattern may take
_SLOW_AFTER_S: Final = 1.0
_TRIALS: Final = (
    *(sign * 1_000 + "!" for sign in "a0 -_=x."), "a1 " * 300 + "!", "loss=0.5, " * 100 + "!",
    "1.5" * 300 + "x", "ab" * 500 + "\x00",
    "step 12345 loss 0.123456789012345678901234567890 acc 0.98 lr 1e-05 !",
)  # fmt: skip


def check_pattern(pattern: str) -> str | None:
    """What is wrong with ``pattern`` and what helps, or None when it can be used."""
    if len(pattern) > MAX_LENGTH:
        return f"has {len(pattern)} characters, {MAX_LENGTH} are allowed"
    engine = _engine()
    try:
        compiled = engine.compile(pattern)
    except engine.error as exc:
        return f"is no regular expression: {exc}"
    names = set(compiled.groupindex)
    if not names - PLACES and not names & {"step", "epoch"}:
        return "names nothing to read; name groups, as in step (?P<step>\\d+) loss (?P<loss>\\S+)"
    for trial in _TRIALS:
        try:
            compiled.search(trial, timeout=CHECK_S)
        except TimeoutError:
            return (
                "takes far too long on some lines, because a repeated part can match in many ways, as in"
                " (a+)+; write it so that each repetition starts with something the last one cannot hold"
            )
    return None


class UserPattern:
    """One pattern; ``trouble`` says why it was switched off, None while it is used."""

    def __init__(self, pattern: str) -> None:
        """``pattern`` has passed :func:`check_pattern`."""
        self.pattern = pattern
        self.trouble: str | None = None
        self._compiled = _engine().compile(pattern)
        self._strikes = 0
        self._spent_s = 0.0
        self._since = time.monotonic()

    def search(self, line: str) -> dict[str, str] | None:
        """The named groups that took part in the first match; None without a match."""
        if self.trouble is not None:
            return None
        begin = time.monotonic()
        try:
            match = self._compiled.search(line[:_MAX_LINE], timeout=SEARCH_S)
        except TimeoutError:
            match = None
            self._strikes += 1
            if self._strikes >= MAX_STRIKES:
                self.trouble = f"{MAX_STRIKES} lines took longer than {SEARCH_S * 1000:.0f} ms each"
        self._watch(begin)
        if match is None:
            return None
        return {name: value for name, value in match.groupdict().items() if value is not None}

    def _watch(self, begin: float) -> None:
        now = time.monotonic()
        self._spent_s += now - begin
        if self._spent_s > _SLOW_AFTER_S and self._spent_s > _SLOW_SHARE * (now - self._since):
            self.trouble = f"it took {self._spent_s:.1f} s of {now - self._since:.1f} s"


def metric_name(group: str) -> str:
    """The metric a group is: ``eval__loss`` is ``eval/loss``, ``loss`` is ``train/loss``."""
    name = group.replace("__", "/")
    return name if "/" in name else f"train/{name}"


def _engine() -> Any:
    return importlib.import_module("regex")  # only where somebody has patterns
