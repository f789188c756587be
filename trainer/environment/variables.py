"""One variable of a trainer's environment, and why it is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """``source``: ``always``, ``inherited``, ``threads``, ``platform``, ``device``, ``profile``, ``rung``."""

    name: str
    value: str
    reason: str
    source: str

    def to_json(self) -> dict[str, str]:
        """The shape stored with an attempt and shown on the run page."""
        return {"name": self.name, "value": self.value, "reason": self.reason, "source": self.source}


def as_environ(variables: Iterable[Variable]) -> dict[str, str]:
    """What ``Popen(env=...)`` takes; a later variable of the same name wins."""
    return {variable.name: variable.value for variable in variables}
