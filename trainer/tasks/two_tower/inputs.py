"""What goes into a tower: rows of a dataset as tensors.

Shape suffixes: B rows asked for, N rows there are, T vectors of a sequence, D
length of a vector, F features of all rows together.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainer.tasks.two_tower.features import Bags, Ints


class Inputs(Protocol):
    """One side of a dataset, ready to be read by its tower."""

    def __len__(self) -> int:
        """How many rows there are."""

    def take(self, rows: Ints, *, noise: np.random.Generator | None = None) -> tuple[Tensor, ...]:
        """The tower's arguments for ``rows`` in their order; ``noise`` makes dropout, None reads all."""


class BagInputs:
    """Hashed texts; dropout leaves out features before they are read, which also saves their cost."""

    def __init__(self, bags: Bags, *, dropout: float = 0.0) -> None:
        self._bags = bags
        self._dropout = dropout

    def __len__(self) -> int:
        return len(self._bags)

    def take(self, rows: Ints, *, noise: np.random.Generator | None = None) -> tuple[Tensor, ...]:
        """Feature ids (F,) and the start of each row's (B,)."""
        ids, starts = self._bags.take(rows)
        if noise is not None and self._dropout > 0:
            keep = noise.random(len(ids), dtype=np.float32) >= self._dropout
            keep[starts] = True  # a text without any feature has no meaning
            kept_before: Ints = np.cumsum(keep) - keep
            ids, starts = ids[keep], kept_before[starts]
        return torch.from_numpy(ids), torch.from_numpy(starts)


class VectorInputs:
    """Vectors computed elsewhere: single ones (N, D) or sequences (N, T, D), float32."""

    def __init__(self, vectors: NDArray[np.float32], *, pin_memory: bool = False) -> None:
        """``pin_memory`` collects rows in page-locked memory; only where there is a CUDA device."""
        self._vectors = torch.from_numpy(np.ascontiguousarray(vectors))
        self._pin_memory = pin_memory

    def __len__(self) -> int:
        return len(self._vectors)

    def take(self, rows: Ints, *, noise: np.random.Generator | None = None) -> tuple[Tensor, ...]:
        """The vectors of ``rows``; dropout is the tower's own business."""
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
            return (self._vectors[int(rows[0]) : int(rows[-1]) + 1],)  # a view, nothing is copied
        # collected there at once: pinning what is collected already costs a second copy
        collected = self._vectors.new_empty(
            (len(rows), *self._vectors.shape[1:]), pin_memory=self._pin_memory
        )
        return (torch.index_select(self._vectors, 0, torch.from_numpy(rows), out=collected),)
