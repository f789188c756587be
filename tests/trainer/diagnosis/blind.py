"""The blind sets in ``tests/fixtures/logs/blind``: logs labelled before the diagnosis was measured on them.

``labels.json`` of a set gives each log the ids that are right answers (``unknown`` and ``none`` among them),
the exit status, the platform, where it comes from, and for ``unknown`` the words its first line may have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.trainer.diagnosis.corpus import LOGS
from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence, exit_of
from trainer.diagnosis.finding import UNKNOWN, Finding
from trainer.diagnosis.log_text import read_log

BLIND = LOGS / "blind"
NOTHING = "none"


@dataclass(frozen=True)
class Blind:
    """One log of a blind set: which ids are right, and what is known about its end."""

    path: Path
    ids: tuple[str, ...]
    status: int | None
    platform: str
    first: tuple[str, ...]
    kind: str

    def findings(self) -> list[Finding]:
        """What the diagnosis says."""
        code, number = exit_of(self.status, platform=self.platform)
        evidence = Evidence(log=read_log(self.path), exit_code=code, signal=number, platform=self.platform)
        return diagnose(evidence)


@dataclass(frozen=True)
class Answer:
    """What the diagnosis said about one log, held against its label."""

    log: Blind
    name: str
    first_line: str

    @property
    def names_a_cause(self) -> bool:
        """Neither ``unknown`` nor nothing."""
        return self.name not in (UNKNOWN, NOTHING)

    @property
    def is_right(self) -> bool:
        """The answer is one of the labels."""
        return self.name in self.log.ids

    @property
    def has_a_nameable_cause(self) -> bool:
        """A person would expect one of the known causes, and nothing less."""
        return not {UNKNOWN, NOTHING} & set(self.log.ids)

    @property
    def is_false_alarm(self) -> bool:
        """Something was found in a log in which nothing went wrong."""
        return self.log.ids == (NOTHING,) and self.name != NOTHING

    @property
    def first_line_is_wrong(self) -> bool:
        """An ``unknown`` that shows another line than the one that tells what happened."""
        if self.name != UNKNOWN or not self.log.first:
            return False
        return not any(words in self.first_line for words in self.log.first)


@dataclass(frozen=True)
class Measured:
    """The figures of one set."""

    answers: tuple[Answer, ...]

    @property
    def precision(self) -> float:
        """The share of named causes that are right."""
        named = [answer for answer in self.answers if answer.names_a_cause]
        return sum(answer.is_right for answer in named) / len(named)

    @property
    def recall(self) -> float:
        """The share of logs with a nameable cause whose cause was named."""
        caused = [answer for answer in self.answers if answer.has_a_nameable_cause]
        return sum(answer.is_right for answer in caused) / len(caused)

    @property
    def false_alarms(self) -> int:
        """How many healthy logs yield something."""
        return sum(answer.is_false_alarm for answer in self.answers)

    @property
    def wrong_first_lines(self) -> int:
        """How many ``unknown`` answers show the wrong line first."""
        return sum(answer.first_line_is_wrong for answer in self.answers)

    def wrong(self) -> Iterator[str]:
        """Each answer that is not right, in words."""
        for answer in self.answers:
            if not answer.is_right:
                yield f"{answer.log.path.name}: {answer.name}, should be {' or '.join(answer.log.ids)}"
            elif answer.first_line_is_wrong:
                yield f"{answer.log.path.name}: first line {answer.first_line!r}"

    def __str__(self) -> str:
        named = sum(answer.names_a_cause for answer in self.answers)
        return (
            f"{len(self.answers)} logs, {named} causes named: precision {self.precision:.3f}, "
            f"recall {self.recall:.3f}, {self.false_alarms} false alarms, "
            f"{self.wrong_first_lines} wrong first lines"
        )


def blind_logs(name: str) -> list[Blind]:
    """The logs of the set ``name``."""
    labels = json.loads((BLIND / name / "labels.json").read_text(encoding="utf-8"))
    return [
        Blind(
            path=BLIND / name / f"{log}.log",
            ids=tuple(label["ids"]),
            status=label["status"],
            platform=label["platform"],
            first=tuple(label["first"]),
            kind=label["kind"],
        )
        for log, label in labels.items()
    ]


def measure(name: str) -> Measured:
    """Diagnose every log of the set ``name``."""
    answers = []
    for log in blind_logs(name):
        findings = log.findings()
        best = findings[0] if findings else None
        first_line = best.lines[0] if best is not None and best.lines else ""
        answers.append(Answer(log=log, name=best.id if best else NOTHING, first_line=first_line))
    return Measured(tuple(answers))
