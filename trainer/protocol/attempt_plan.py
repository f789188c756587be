"""What one attempt is launched with beyond the run's own settings: the rungs of the fallback ladder in force.

Written to ``attempts/NNN/plan.json`` before the trainer starts; the trainer,
the dashboard and the next supervisor read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object, write_atomic
from trainer.protocol.run_folder import RunPaths


@dataclass(frozen=True)
class RungTaken:
    """One remedy in force.

    Attributes:
        rung: value of :class:`trainer.protocol.rungs.Rung`.
        title: the remedy in words, e.g. ``half the micro-batch at once``.
        reason: why it was taken: a finding's cause, or a stall in words.
        attempt: the first attempt it is in force for.
        changes_numbers: losses differ from those of a run that never needed it.
        is_unsafe: results may be silently wrong.
        changes: parameter or variable -> ``[before, after]``; None stands for "not set".
    """

    rung: str
    title: str
    reason: str
    attempt: int
    changes_numbers: bool = False
    is_unsafe: bool = False
    changes: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class AttemptPlan:
    """What differs from the run's own settings in one attempt.

    Attributes:
        attempt: number of the launch, from 1.
        rungs: all in force, oldest first; empty for an untouched attempt.
        params: parameters that differ from the spec's.
        environment: variables set by rungs.
        because: ``{"id", "cause", "step", "attempt"}`` of what ended the attempt before; None where no
            death led to this one.
    """

    attempt: int
    rungs: tuple[RungTaken, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    because: dict[str, Any] | None = None

    @property
    def newest(self) -> RungTaken | None:
        """The rung taken for this very attempt; None when it is launched as the one before was."""
        taken = [rung for rung in self.rungs if rung.attempt == self.attempt]
        return taken[-1] if taken else None

    def has(self, rung: str) -> bool:
        """Whether ``rung`` is in force."""
        return any(taken.rung == rung for taken in self.rungs)

    def to_json(self) -> dict[str, Any]:
        """The plan as files, events and addresses show it."""
        return {**asdict(self), "rungs": [asdict(rung) for rung in self.rungs]}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> AttemptPlan:
        """Inverse of :meth:`to_json`; fields it does not know are left out.

        Raises:
            ProtocolError: a field is missing or has the wrong type.
        """
        try:
            rungs = tuple(RungTaken(**_known(RungTaken, rung)) for rung in raw["rungs"])
            plan = cls(**{**_known(cls, raw), "rungs": rungs})
            is_sound = (
                isinstance(plan.attempt, int)
                and isinstance(plan.params, dict)
                and isinstance(plan.environment, dict)
                and all(isinstance(text, str) for pair in plan.environment.items() for text in pair)
            )
        except (KeyError, TypeError, AttributeError) as exc:
            raise ProtocolError(f"not an attempt's plan: {exc!r}") from exc
        if not is_sound:
            raise ProtocolError("not an attempt's plan: attempt, params or environment has the wrong type")
        return plan

    def save(self, paths: RunPaths) -> None:
        """Write the plan where the trainer finds it.

        Raises:
            OSError: the disk refuses.
        """
        write_atomic(paths.plan(self.attempt), json.dumps(self.to_json(), indent=2).encode())

    @classmethod
    def load(cls, paths: RunPaths, attempt: int) -> AttemptPlan | None:
        """The plan of ``attempt``, or None where it has none.

        Raises:
            ProtocolError: the file is there but is no plan.
        """
        path = paths.plan(attempt)
        return cls.from_json(read_object(path)) if path.exists() else None


def _known(kind: type, raw: Mapping[str, Any]) -> dict[str, Any]:
    names = {one.name for one in fields(kind)}
    return {name: value for name, value in raw.items() if name in names}
