"""Which of several processes this one is; known before torch is loaded.

``torch.distributed.run`` tells it by environment variables. Without them the
process trains alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


class PeerLost(Exception):
    """Another rank is gone; why is not this one's to say."""


@dataclass(frozen=True)
class Place:
    """``rank`` of ``count`` (from 0); ``local_rank`` counts on this machine and picks the GPU."""

    rank: int = 0
    count: int = 1
    local_rank: int = 0

    @property
    def is_first(self) -> bool:
        """Whether it is the one that reports, evaluates and saves."""
        return self.rank == 0

    @property
    def is_alone(self) -> bool:
        """Whether it trains without others."""
        return self.count == 1


def here(environ: Mapping[str, str] | None = None) -> Place:
    """The place of this process."""
    environ = os.environ if environ is None else environ
    if "TORCHELASTIC_RUN_ID" not in environ:
        return Place()
    return Place(int(environ["RANK"]), int(environ["WORLD_SIZE"]), int(environ["LOCAL_RANK"]))
