"""Which held-out examples become probes: those that are pinned, then one of each group in turn."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence


def choose_in_turn(
    rows: Iterable[int],
    *,
    ids: Sequence[str],
    group_of: Callable[[int], str],
    count: int,
    seed: int,
    pinned: Sequence[int] = (),
) -> list[int]:
    """``count`` of ``rows``, ascending; more only where more are pinned.

    The choice depends on the seed, the ids and the groups only, never on the order of the rows.

    Args:
        rows: that may be chosen.
        ids: of every row there is.
        group_of: the group of a row; each gives one in turn, until there are enough.
        count: how many are wanted.
        seed: another one chooses others.
        pinned: rows that are among the chosen in any case, and count.
    """

    def order(text: str) -> bytes:
        return hashlib.blake2b(f"{seed}:{text}".encode(errors="surrogatepass"), digest_size=8).digest()

    chosen = list(dict.fromkeys(pinned))
    taken = set(chosen)
    by_group: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if row not in taken:
            by_group[group_of(row)].append(row)
    queues = [
        sorted(by_group[group], key=lambda row: order(ids[row]), reverse=True)
        for group in sorted(by_group, key=order)
    ]
    while queues and len(chosen) < count:
        chosen.extend(queue.pop() for queue in queues[: count - len(chosen)])
        queues = [queue for queue in queues if queue]
    return sorted(chosen)
