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
        """The tower's arguments for ``rows`` in their order; ``noise`` makes dropout, None reads all.

        All that is random about a row comes with it, so its vector is the same
        whichever rows it is read with.
        """

    def part(self, arguments: tuple[Tensor, ...], rows: slice) -> tuple[Tensor, ...]:
        """Those of the ``arguments`` that :meth:`take` gave which belong to ``rows`` of its rows."""


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

    def part(self, arguments: tuple[Tensor, ...], rows: slice) -> tuple[Tensor, ...]:
        """The bags of ``rows``, their starts counted from the first of them."""
        ids_F, starts_B = arguments
        first = int(starts_B[rows.start])
        last = int(starts_B[rows.stop]) if rows.stop < len(starts_B) else len(ids_F)
        return ids_F[first:last], starts_B[rows] - first


class VectorInputs:
    """Vectors computed elsewhere: single ones (N, D) or sequences (N, T, D), float32."""

    def __init__(
        self, vectors: NDArray[np.float32], *, has_dropout: bool = False, pin_memory: bool = False
    ) -> None:
        """Prepare.

        Args:
            vectors: all of them.
            has_dropout: the tower wants a seed for each row in training.
            pin_memory: rows are collected in page-locked memory; only where there is a CUDA device.
        """
        self._vectors = torch.from_numpy(np.ascontiguousarray(vectors))
        self._has_dropout = has_dropout
        self._pin_memory = pin_memory

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def length(self) -> int:
        """Of a vector."""
        return int(self._vectors.shape[-1])

    def take(self, rows: Ints, *, noise: np.random.Generator | None = None) -> tuple[Tensor, ...]:
        """The vectors of ``rows``, and where the tower drops units a seed (B,) for each row."""
        vectors = self._vectors_of(rows)
        if noise is None or not self._has_dropout:
            return (vectors,)
        return vectors, torch.from_numpy(noise.integers(0, 2**62, size=len(rows)))

    def part(self, arguments: tuple[Tensor, ...], rows: slice) -> tuple[Tensor, ...]:
        """The vectors and seeds of ``rows``."""
        return tuple(tensor[rows] for tensor in arguments)

    def extended(self, further: NDArray[np.float32]) -> VectorInputs:
        """The same with ``further`` vectors (N, D) behind, as rows of their own."""
        return VectorInputs(
            np.concatenate([self._vectors.numpy(), further]),
            has_dropout=self._has_dropout,
            pin_memory=self._pin_memory,
        )

    def array(self) -> NDArray[np.float32]:
        """All vectors, not to be written to."""
        vectors: NDArray[np.float32] = self._vectors.numpy()
        return vectors

    def _vectors_of(self, rows: Ints) -> Tensor:
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
            return self._vectors[int(rows[0]) : int(rows[-1]) + 1]  # a view, nothing is copied
        # collected there at once: pinning what is collected already costs a second copy
        collected = self._vectors.new_empty(
            (len(rows), *self._vectors.shape[1:]), pin_memory=self._pin_memory
        )
        return torch.index_select(self._vectors, 0, torch.from_numpy(rows), out=collected)
