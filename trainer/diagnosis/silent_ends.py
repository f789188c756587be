"""Ends that look like success: nothing was trained, or the numbers had stopped being numbers."""

from __future__ import annotations

import re
from typing import Final

from trainer.diagnosis.evidence import Evidence
from trainer.diagnosis.log_text import Log

_FINITE: Final = re.compile(
    r"(?<!best_)(?<!best )(?<!min_)(?<!eval_)\b[Ll]oss['\"]?(?:\s*[:=]\s*"
    r"|\s+is\s+|\s+)['\"]?([-+]?\d[\d.]*(?:[eE][-+]?\d+)?)"
)
_NOT_A_NUMBER: Final = re.compile(r"(?i)\bnan\b|\binf\b")


def trained_nothing(evidence: Evidence, log: Log) -> bool:
    """Whether an end that claims success did no work."""
    return evidence.ended_well and evidence.steps_done == 0 and not log.progress


def ended_in_nan(log: Log, lines: tuple[int, ...]) -> bool:
    """Whether no finite loss came after the last NaN: a scaler's skipped step is no divergence."""
    last = lines[-1]
    for index in range(last + 1, len(log.lines)):
        line = log.lines[index]
        if _FINITE.search(line) and not _NOT_A_NUMBER.search(line):
            return False
    return True
