"""Ends that look like success, and ends nobody wrote a word about.

Nothing was trained, the numbers had stopped being numbers, the trainer left without a word.
"""

from __future__ import annotations

import re
from typing import Final

from trainer.diagnosis.evidence import Evidence
from trainer.diagnosis.finding import UNKNOWN, Finding
from trainer.diagnosis.log_text import Log
from trainer.diagnosis.nothing_fits import unknown
from trainer.diagnosis.tracebacks import Chain, chains_of, main_chain

SILENT_EXIT: Final = "silent_exit"
_FINITE: Final = re.compile(
    r"(?<!best_)(?<!best )(?<!min_)(?<!eval_)\b[Ll]oss['\"]?(?:\s*[:=]\s*"
    r"|\s+is\s+|\s+)['\"]?([-+]?\d[\d.]*(?:[eE][-+]?\d+)?)"
)
_NOT_A_NUMBER: Final = re.compile(r"(?i)\bnan\b|\binf\b")


def trained_nothing(evidence: Evidence, log: Log) -> bool:
    """Whether an end that claims success did no work; the trainer's own word outweighs what it printed."""
    if not evidence.ended_well or evidence.steps_done != 0:
        return False
    return evidence.said_finished is True or not log.progress


def ended_in_nan(log: Log, lines: tuple[int, ...]) -> bool:
    """Whether no finite loss came after the last NaN: a scaler's skipped step is no divergence."""
    last = lines[-1]
    for index in range(last + 1, len(log.lines)):
        line = log.lines[index]
        if _FINITE.search(line) and not _NOT_A_NUMBER.search(line):
            return False
    return True


def left_without_a_word(evidence: Evidence, log: Log, chain: Chain | None) -> Finding:
    """The trainer ended with code 0 and never said that it had finished, and nothing else explains it."""
    steps = evidence.steps_done
    when = "" if steps is None else f" after step {steps}" if steps else " before its first step"
    phase = f", while it was {evidence.phase}" if evidence.phase else ""
    return Finding(
        id=SILENT_EXIT,
        cause=f"The trainer left{when}{phase} with exit code 0, which stands for success, but never said "
        "that it had finished: something ended the program early, or hid its real exit code.",
        remedy="Look at the last lines of its output, then for sys.exit(), exit() and os._exit() in your "
        "code and in what it calls. In a shell script use 'set -o pipefail': a pipe reports the code of its "
        "last command. Start goes on from the last checkpoint.",
        confidence=0.7,
        lines=unknown(evidence, log, chain).lines,
        source="https://docs.python.org/3/library/os.html#os._exit",
    )


def unexplained(evidence: Evidence, *, reason: str) -> Finding:
    """What is left to say of an end that somebody called a failure and that nothing explains.

    Args:
        evidence: all there is.
        reason: why it was called one, in words without a full stop.
    """
    log = Log.of(evidence.log)
    found = unknown(evidence, log, main_chain(log, chains_of(log)))
    return Finding(
        id=UNKNOWN,
        cause=f"{found.cause} It counts as a failure because {reason}.",
        remedy=found.remedy,
        confidence=0.0,
        lines=found.lines,
    )
