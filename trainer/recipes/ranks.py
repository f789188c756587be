"""What several processes mean for a run's steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.protocol.rank_files import nproc_of


def batches_per_step(params: Mapping[str, Any]) -> int:
    """Batches whose gradients make one optimizer step, over all processes."""
    return int(params["accumulate"]) * nproc_of(params)
