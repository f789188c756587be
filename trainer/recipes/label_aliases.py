"""Labels that are written in several ways and mean one: ``ai|ai-generated=machine; human|person=human``."""

from __future__ import annotations


def parse_aliases(text: str) -> dict[str, str]:
    """What each way of writing stands for; an empty text gives none.

    Groups are separated by ``;``, the ways of writing by ``|``, and ``=`` is
    followed by the label they become. Upper and lower case differ.

    Raises:
        ValueError: names the place that is wrong.
    """
    found: dict[str, str] = {}
    for number, part in enumerate(text.split(";"), start=1):
        if not part.strip():
            continue
        written, equals, label = (piece.strip() for piece in part.rpartition("="))
        if not equals or not label or not written:
            raise ValueError(f"part {number} ({part.strip()!r}) must look like written|otherwise=label")
        for one in (alias.strip() for alias in written.split("|")):
            if not one:
                raise ValueError(f"part {number} ({part.strip()!r}) has an empty way of writing")
            if found.setdefault(one, label) != label:
                raise ValueError(f"part {number}: {one!r} is already said to mean {found[one]!r}")
    return found
