"""One variable of a trainer's environment, why it is there, and where that is known from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from trainer.environment.secrets import shown


@dataclass(frozen=True)
class Variable:
    """A variable and its reasons.

    Attributes:
        name: as the trainer sees it.
        value: likewise; a secret is never shown, see :meth:`to_json`.
        reason: why it is set so, in words.
        source: who set it: ``always``, ``inherited``, ``threads``, ``platform``, ``device``, ``loader``,
            ``profile``, ``yours`` (the user) or ``rung`` (the fallback ladder).
        reference: where the reason is known from: an address, ``measured``, or ``by design``; empty where
            there is nothing to know, as in the user's own.
        replaced: what the variable would have been otherwise; None when nothing was replaced.
    """

    name: str
    value: str
    reason: str
    source: str
    reference: str = ""
    replaced: Variable | None = None

    def to_json(self) -> dict[str, Any]:
        """The shape stored with an attempt and shown on pages; secrets are hidden."""
        replaced = self.replaced
        return {
            "name": self.name,
            "value": shown(self.name, self.value),
            "reason": self.reason,
            "source": self.source,
            "reference": self.reference,
            "replaced": None
            if replaced is None
            else {"value": shown(self.name, replaced.value), "source": replaced.source},
        }


def as_environ(variables: Iterable[Variable]) -> dict[str, str]:
    """What ``Popen(env=...)`` takes; a later variable of the same name wins."""
    return {variable.name: variable.value for variable in variables}
