"""Findings of a run that several processes train: they name the rank with which it began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trainer.diagnosis.finding import Finding
from trainer.diagnosis.log_text import Log
from trainer.diagnosis.tracebacks import chains_of, main_chain

_CHARACTERS = 200


def of_rank(findings: Sequence[Finding], *, rank: int, end: str, log: str) -> list[Finding]:
    """The findings, the first of which says how ``rank`` ended.

    Args:
        findings: why it ended, best first, from the rank's own output.
        rank: its number.
        end: its end in words, e.g. ``was killed by SIGKILL (signal 9)``.
        log: its own output; an exception in it says more than an exit code.
    """
    if not findings:
        return []
    raised = _raised(log) if "exit code" in end else ""
    how = f"stopped with {raised}" if raised else end
    first = replace(findings[0], cause=f"Rank {rank} {how.rstrip('.')}. {findings[0].cause}")
    return [first, *findings[1:]]


def _raised(text: str) -> str:
    """The exception that ended it, with the first line of its message; empty where there is none."""
    log = Log.of(text)
    chain = main_chain(log, chains_of(log))
    if chain is None or not chain.exceptions:
        return ""
    line = log.lines[chain.exceptions[-1]].removeprefix(chain.prefix).strip()
    kind, _, message = line.partition(":")
    said = f"{kind.rpartition('.')[2]}:{message}" if message else kind.rpartition(".")[2]
    return said if len(said) <= _CHARACTERS else f"{said[:_CHARACTERS]} ..."
