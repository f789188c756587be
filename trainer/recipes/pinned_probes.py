"""Ids of examples that somebody wants among the probes: ``a, b``, or ``["one, with a comma", "b"]``."""

from __future__ import annotations

import json

from pydantic import ValidationInfo


def pinned_ids(text: str) -> list[str]:
    """The ids, each once; an empty text gives none.

    Commas and line breaks separate them, white space around them does not
    count. Ids that hold a comma are written as a JSON list.

    Raises:
        ValueError: it begins like a JSON list and is none.
    """
    if not text.lstrip().startswith("["):
        pieces = (piece.strip() for line in text.splitlines() for piece in line.split(","))
        return list(dict.fromkeys(piece for piece in pieces if piece))
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(isinstance(one, str) and one for one in listed):
        raise ValueError('must be ids separated by commas, or a JSON list of them such as ["a", "b"]')
    return list(dict.fromkeys(listed))


def check_pinned(text: str, info: ValidationInfo) -> str:
    """``text``, if it names no more examples than there are to be probes.

    Raises:
        ValueError: it does, or is no list of ids.
    """
    num_pinned, num_probes = len(pinned_ids(text)), info.data.get("num_probes")
    if num_probes is not None and num_pinned > num_probes:
        raise ValueError(f"names {num_pinned:,} examples, and num_probes is {num_probes:,}; raise num_probes")
    return text
