"""Document vectors of earlier batches, kept as further negatives; the oldest leave first.

A document is in the bank once: when it comes again, its older vector counts no
longer.  What answers a query, and what is a candidate of the batch anyway, is
closed to it.  Vectors are those the tower gave when it read the document, so
they age; nothing is passed back through them.  What a batch brings joins when
the next one asks: until then its loss has still to be passed back past the bank.

Shape suffixes: B pairs of the batch, N candidates of the batch, K vectors in
the bank, D length of the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainer.tasks.two_tower.features import Ints

_NONE: Final = -1


@dataclass(frozen=True)
class BankNegatives:
    """What the bank has for one batch.

    Attributes:
        vectors_KD: unit-norm documents, on the towers' device.
        closed_BK: where a document is no negative of a query; shape (1, K) where all queries agree.
        num_open_B: negatives of each query, shape (B,) or (1,).
    """

    vectors_KD: Tensor
    closed_BK: Tensor
    num_open_B: Ints


class MemoryBank:
    """Holds up to ``capacity`` documents; empty at first."""

    def __init__(self, capacity: int, *, num_documents: int, device: torch.device) -> None:
        """Prepare.

        Args:
            capacity: vectors to keep, above 0.
            num_documents: one more than the largest number of a document.
            device: where the vectors are kept.
        """
        self._capacity = capacity
        self._device = device
        self._vectors_KD: Tensor | None = None
        self._documents: Ints = np.full(capacity, _NONE, dtype=np.int64)
        self._place_of: Ints = np.full(num_documents, _NONE, dtype=np.int64)
        self._next = 0
        self._filled = 0
        self._brought: tuple[Ints, Tensor] | None = None

    def __len__(self) -> int:
        """Documents that count."""
        self._take_in()
        return int((self._documents != _NONE).sum())

    def negatives(self, documents_N: Ints, golds_B: Sequence[Ints]) -> BankNegatives | None:
        """What the bank has for the batch with the candidates ``documents_N``; None while it is empty.

        ``golds_B`` are for each query all documents that answer it.
        """
        self._take_in()
        if self._vectors_KD is None:
            return None
        is_closed = self._documents[: self._filled] == _NONE
        present = self._place_of[documents_N]
        is_closed[present[present != _NONE]] = True
        closed_BK = is_closed[None, :]
        several = [place for place, golds in enumerate(golds_B) if len(golds) > 1]
        if several:
            closed_BK = self._closed_for_each(is_closed, golds_B, several)
        return BankNegatives(
            vectors_KD=self._vectors_KD[: self._filled],
            closed_BK=torch.from_numpy(closed_BK).to(self._device),
            num_open_B=(~closed_BK).sum(axis=1),
        )

    def _closed_for_each(
        self, is_closed: NDArray[np.bool_], golds_B: Sequence[Ints], several: list[int]
    ) -> NDArray[np.bool_]:
        """Queries with one answer have it in the batch; of the others, close the answers kept here."""
        closed_BK = np.repeat(is_closed[None, :], len(golds_B), axis=0)
        for place in several:
            kept = self._place_of[golds_B[place]]
            closed_BK[place, kept[kept != _NONE]] = True
        return closed_BK

    def push(self, documents_B: Ints, vectors_BD: Tensor) -> None:
        """Keep the vectors of a batch's own documents; of equal documents the first one."""
        self._take_in()
        self._brought = (documents_B, vectors_BD.detach())

    def _take_in(self) -> None:
        if self._brought is None:
            return
        (documents_B, vectors_BD), self._brought = self._brought, None
        _, first = np.unique(documents_B, return_index=True)
        rows = np.sort(first)[-self._capacity :]
        if self._vectors_KD is None:
            self._vectors_KD = torch.zeros(self._capacity, vectors_BD.shape[1], device=self._device)
        documents = documents_B[rows]
        places: Ints = (self._next + np.arange(len(rows))) % self._capacity
        pushed_out = self._documents[places]
        self._place_of[pushed_out[pushed_out != _NONE]] = _NONE
        older = self._place_of[documents]
        self._documents[older[older != _NONE]] = _NONE
        self._documents[places] = documents
        self._place_of[documents] = places
        taken = vectors_BD[torch.from_numpy(rows).to(vectors_BD.device)]
        self._vectors_KD[torch.from_numpy(places).to(self._device)] = taken.to(self._vectors_KD.dtype)
        self._next = int((self._next + len(rows)) % self._capacity)
        self._filled = min(self._capacity, max(self._filled, int(places.max()) + 1))

    def state_dict(self) -> dict[str, Any]:
        """Everything exact resume needs; each vector keeps its place, since sums depend on the order."""
        self._take_in()
        vectors = None if self._vectors_KD is None else self._vectors_KD[: self._filled].cpu().clone()
        return {
            "vectors": vectors,
            "documents": torch.from_numpy(self._documents[: self._filled].copy()),
            "next": self._next,
            "capacity": self._capacity,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of :meth:`state_dict`; a bank of another capacity takes the newest it has room for."""
        self._vectors_KD, self._next, self._filled, self._brought = None, 0, 0, None
        self._documents[:] = _NONE
        self._place_of[:] = _NONE
        if state["vectors"] is None:
            return
        documents: Ints = state["documents"].numpy()
        order: Ints = np.arange(len(documents), dtype=np.int64)
        if state["capacity"] != self._capacity:
            if len(documents) == state["capacity"]:
                order = np.roll(order, -state["next"])
            order = order[-self._capacity :]
        documents = documents[order]
        vectors_KD: Tensor = state["vectors"][torch.from_numpy(order)]
        self._vectors_KD = torch.zeros(self._capacity, vectors_KD.shape[1], device=self._device)
        self._vectors_KD[: len(documents)] = vectors_KD.to(self._device)
        self._documents[: len(documents)] = documents
        known = documents != _NONE
        self._place_of[documents[known]] = np.flatnonzero(known)
        self._filled = len(documents)
        is_same = state["capacity"] == self._capacity
        self._next = int(state["next"]) if is_same else self._filled % self._capacity
