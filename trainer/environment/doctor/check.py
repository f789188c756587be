"""What the doctor says about one suspicion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """From good to bad."""

    OK = "ok"
    NOTE = "note"  # worth knowing; nothing to do
    WARNING = "warning"  # runs may fail or be slow
    PROBLEM = "problem"  # runs will fail, or their numbers cannot be trusted


@dataclass(frozen=True)
class Check:
    """One suspicion looked at.

    Attributes:
        id: stable name for scripts.
        title: what was looked at.
        verdict: how bad it is.
        found: what was found, in plain words.
        remedy: what to do; empty where nothing needs to be done.
        details: figures and lines behind the verdict, JSON values.
    """

    id: str
    title: str
    verdict: Verdict
    found: str
    remedy: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The shape printed, stored and shown."""
        return {
            "id": self.id,
            "title": self.title,
            "verdict": self.verdict.value,
            "found": self.found,
            "remedy": self.remedy,
            "details": self.details,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Check:
        """What :meth:`to_json` has written.

        Raises:
            KeyError: a field is missing.
            ValueError: there is no such verdict.
        """
        return cls(
            id=str(fields["id"]),
            title=str(fields["title"]),
            verdict=Verdict(fields["verdict"]),
            found=str(fields["found"]),
            remedy=str(fields["remedy"]),
            details=dict(fields["details"]),
        )


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of ``verdicts``; ok when there are none."""
    order = list(Verdict)
    return max(verdicts, key=order.index, default=Verdict.OK)
