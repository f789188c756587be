"""Why a question got no answer, in one shape from the model's process to the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from trainer.diagnosis.finding import Finding


class Fault(StrEnum):
    """What kind of trouble it is."""

    QUESTION = "question"  # the question is wrong; the model is ready for another
    CHECKPOINT = "checkpoint"  # there is no such checkpoint, or it is damaged
    OPENING = "opening"  # the model cannot be made ready: its dataset, files or settings are at fault
    LIMIT = "limit"  # it took too long, or too much memory, and was ended
    DIED = "died"  # its process ended by itself; findings tell why
    BROKEN = "broken"  # the program that answers raised what nobody expected


class AskingError(Exception):
    """A question got no answer.

    Attributes:
        kind: which trouble.
        message: what happened, for a person.
        field: which part of the question is wrong; empty otherwise.
        hint: what helps; empty where the message says it.
        findings: why the process died, best first.
        lines: the last lines it printed.
    """

    def __init__(
        self,
        kind: Fault,
        message: str,
        *,
        field: str = "",
        hint: str = "",
        findings: Sequence[Finding] = (),
        lines: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.field = field
        self.hint = hint
        self.findings = tuple(findings)
        self.lines = tuple(lines)

    def to_json(self) -> dict[str, Any]:
        """``{"kind", "message", "field", "hint", "findings", "lines"}``."""
        return {
            "kind": self.kind.value,
            "message": self.message,
            "field": self.field,
            "hint": self.hint,
            "findings": [finding.to_json() for finding in self.findings],
            "lines": list(self.lines),
        }


def fault_from(told: Mapping[str, Any]) -> AskingError:
    """The error that a model's process told as ``{"kind", "message", "field"?, "hint"?}``."""
    return AskingError(
        Fault(told["kind"]), told["message"], field=told.get("field", ""), hint=told.get("hint", "")
    )
