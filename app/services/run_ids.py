"""Run ids: short, sortable by time of creation, safe as a folder name and in a URL."""

from __future__ import annotations

import re
import secrets
import time
from typing import Final

ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread
RUN_ID: Final = re.compile(r"[a-z0-9-]{1,64}")


def new_run_id(*, now: float | None = None) -> str:
    """A fresh id such as ``1ke3s8v4q-7f2kc``: milliseconds since 1970, then 25 random bits.

    Args:
        now: Unix seconds; None stands for the present moment.
    """
    milliseconds = int((time.time() if now is None else now) * 1000)
    return f"{_encode(milliseconds, 9)}-{_encode(secrets.randbits(25), 5)}"


def is_run_id(text: str) -> bool:
    """Whether ``text`` may be a run id at all."""
    return RUN_ID.fullmatch(text) is not None


def _encode(number: int, num_characters: int) -> str:
    characters = []
    for _ in range(num_characters):
        number, digit = divmod(number, 32)
        characters.append(ALPHABET[digit])
    return "".join(reversed(characters))
