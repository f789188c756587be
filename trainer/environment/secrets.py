"""Which variables hold secrets, and what is shown of them.

Decided by the name alone: a value does not tell what it is.  A secret reaches
the trainer as it is; everything that is shown, stored with an attempt or sent
over the uplink holds :data:`HIDDEN` in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HIDDEN: Final = "••••••"
_WORDS: Final = frozenset(
    {"TOKEN", "TOKENS", "KEY", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "PWD", "CREDENTIALS"}
)
_ENDINGS: Final = ("TOKEN", "SECRET", "PASSWORD", "APIKEY")


def is_secret(name: str) -> bool:
    """Whether a variable's name says that its value is a secret, e.g. ``HF_TOKEN`` or ``AWS_SECRET_KEY``."""
    words = name.upper().split("_")
    return any(word in _WORDS or word.endswith(_ENDINGS) for word in words) and name.upper() != "PWD"


def shown(name: str, value: str) -> str:
    """The value as people and files may see it; an empty secret hides nothing."""
    return HIDDEN if value and is_secret(name) else value


def shown_all(variables: Mapping[str, str]) -> dict[str, str]:
    """All of them as people may see them."""
    return {name: shown(name, value) for name, value in variables.items()}
