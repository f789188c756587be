"""What a run's policy may say: each field once, with its default, its bounds and its words.

The form, the command line, the server's checks and the supervisor read the
same declaration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

WEEK_S: Final = 7 * 24 * 3600.0


class PolicyError(ValueError):
    """A field of a policy is unknown, or its value is not allowed.

    Attributes:
        field: the field's name.
        message: what is wrong and what is allowed, for a person.
        hint: what to do; empty where the message says it.
    """

    def __init__(self, field: str, message: str, hint: str = "") -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class PolicyField:
    """One field.

    Attributes:
        name: the key in ``RunSpec.policy``.
        label: the words in front of it.
        type: ``int``, ``float`` (finite) or ``choice``.
        default: what holds when the key is missing.
        help: what it does, in a sentence or two.
        minimum: lowest allowed number.
        maximum: highest allowed number.
        choices: allowed words, each with what it means.
        unit: what a number counts.
    """

    name: str
    label: str
    type: Literal["int", "float", "choice"]
    default: int | float | str
    help: str
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: Mapping[str, str] | None = None
    unit: str = ""

    def to_json(self) -> dict[str, Any]:
        """The shape the form is drawn from."""
        return {
            "name": self.name,
            "label": self.label,
            "type": self.type,
            "default": self.default,
            "help": self.help,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "choices": None if self.choices is None else dict(self.choices),
            "unit": self.unit,
        }


FIELDS: Final = (
    PolicyField(
        "max_attempts",
        "Give up after",
        "int",
        3,
        "How often the trainer is launched when it dies again and again without getting further. "
        "1 never starts it again.",
        minimum=1,
        maximum=20,
        unit="attempts",
    ),
    PolicyField(
        "on_stall",
        "When it hangs",
        "choice",
        "report",
        "A run hangs when it shows no progress for too long; its stacks are always kept.",
        choices={
            "report": "say so, and wait for it",
            "stop": "stop it",
            "retry": "start it again from its last checkpoint",
        },
    ),
    PolicyField(
        "retry_after_s",
        "Start again after",
        "float",
        120.0,
        "How long a hang must last before the run is started again; only for 'start it again'.",
        minimum=1.0,
        maximum=WEEK_S,
        unit="seconds",
    ),
    PolicyField(
        "stall_after_s",
        "A step may take",
        "float",
        60.0,
        "Longer without progress counts as a hang, unless this run's own steps have shown to take longer; "
        "loading, mining and evaluation get a multiple of it.",
        minimum=1.0,
        maximum=WEEK_S,
        unit="seconds",
    ),
)
BY_NAME: Final = {field.name: field for field in FIELDS}


def default_of(name: str) -> Any:
    """What holds when the policy does not say; ``name`` must be a field."""
    return BY_NAME[name].default


def describe_policy() -> list[dict[str, Any]]:
    """All fields as JSON, in the order of the form."""
    return [field.to_json() for field in FIELDS]


def checked_policy(policy: Mapping[str, object]) -> dict[str, Any]:
    """Return ``policy`` as it is stored; fields that are missing or None keep their default and stay out.

    Raises:
        PolicyError: names the first field that is unknown or not allowed.
    """
    checked: dict[str, Any] = {}
    for name, value in policy.items():
        field = BY_NAME.get(name)
        if field is None:
            raise PolicyError(str(name), f"there is no such field; there are {', '.join(BY_NAME)}")
        if value is not None:
            checked[name] = _checked(field, value)
    if checked.get("on_stall") == "retry" and checked.get("max_attempts") == 1:
        raise PolicyError(
            "on_stall",
            "'retry' starts a run again that hangs, and max_attempts 1 never does",
            "Allow two attempts or more, or choose 'stop'.",
        )
    return checked


def _checked(field: PolicyField, value: object) -> Any:
    if field.choices is not None:
        if value not in field.choices:
            raise PolicyError(field.name, f"must be one of {', '.join(field.choices)}, got {value!r:.80}")
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    is_whole = is_number and (field.type == "float" or isinstance(value, int))
    low, high = field.minimum or 0, field.maximum or math.inf
    if not is_whole or not low <= value <= high:  # type: ignore[operator]  # a number, as tested
        kind = "a whole number of" if field.type == "int" else ""
        words = f"{kind} {field.unit}".strip()
        raise PolicyError(
            field.name,
            f"must be {low:g} to {high:g} ({words}), got {value!r:.80}",
            field.help,
        )
    return value
