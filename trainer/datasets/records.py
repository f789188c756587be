"""What a dataset is once it is read: pairs with groups, and what is wrong with it when it is not.

Shape suffixes: N pairs, M distinct documents, T vectors of a sequence, D their length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Tell = Callable[[str, float], None]  # detail for a person, fraction done 0..1


class DatasetError(ValueError):
    """A dataset cannot be used; the message names file, row and column and says what is allowed."""


@dataclass(frozen=True)
class TextPairs:
    """Queries and the document that answers each, as texts.

    Attributes:
        name: shown to people; also the dataset's name in the evolution pages.
        ids: one unique id per pair.
        queries: one text per pair.
        documents: one text per pair; equal texts are one document.
        titles: one short line per pair naming its document.
        groups: one group per pair; a group is never split between training and evaluation.
        content_hash: sha256 of everything above that training sees.
    """

    name: str
    ids: list[str]
    queries: list[str]
    documents: list[str]
    titles: list[str]
    groups: list[str]
    content_hash: str

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class VectorPairs:
    """Queries and documents as embeddings computed elsewhere.

    Attributes:
        query_vectors: float32, shape (N, T, D); a single vector per query is T = 1.
        document_vectors: float32, shape (N, D), row i answers query i.
        groups: as in :class:`TextPairs`.
        queries_text: what the query says, where the file tells, else empty strings.
        titles: what the document says, where the file tells, else its id.
        held_out: rows that the file itself keeps for evaluation, ascending; None leaves the choice to us.
        bank_vectors: float32, shape (M, D): documents that belong to no pair; None for none.
        bank_ids: one per document of the bank.
    """

    name: str
    ids: list[str]
    query_vectors: NDArray[np.float32]
    document_vectors: NDArray[np.float32]
    queries_text: list[str]
    titles: list[str]
    groups: list[str]
    content_hash: str
    held_out: NDArray[np.int64] | None = None
    bank_vectors: NDArray[np.float32] | None = None
    bank_ids: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)
