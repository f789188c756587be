"""Where the examples lie that somebody has pinned: what preflight and trainer must agree about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainer.datasets.records import DatasetError


def pinned_rows(
    wanted: Sequence[str], *, name: str, ids: Iterable[str], held_out: Iterable[int], trained: Iterable[int]
) -> list[int]:
    """The rows of the examples called ``wanted``, in that order.

    Args:
        wanted: their ids.
        name: of the dataset, for messages.
        ids: of all examples; of equal ones the first counts.
        held_out: rows that can be asked.
        trained: rows that are trained on.

    Raises:
        DatasetError: one does not exist, or is not held out; names it and the remedy.
    """
    if not wanted:
        return []
    sought, place = set(wanted), dict[str, int]()
    for row, one in enumerate(ids):
        if one in sought:
            place.setdefault(one, row)
    can_be_asked = set(held_out)
    for one in wanted:
        if one not in place:
            raise DatasetError(
                f"pinned_probes: {name} has no example {one[:80]!r}; copy the id from the dataset, or from "
                "an example's page in the evolution"
            )
        if place[one] in can_be_asked:
            continue
        if place[one] in set(trained):
            raise DatasetError(
                f"pinned_probes: {one[:80]!r} is trained on, and an example it trains on tells nothing about "
                "what it learned; pin one that is held out, or change seed or held_out_fraction"
            )
        raise DatasetError(
            f"pinned_probes: {one[:80]!r} is neither trained on nor held out: a limit leaves it out, or "
            "max_length leaves nothing of it to ask; pin another, or raise the limit"
        )
    return [place[one] for one in dict.fromkeys(wanted)]
