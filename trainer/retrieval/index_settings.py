"""Which index serves the documents, and what an index can be asked besides searching it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from trainer.retrieval.ranking import Floats, Pool

Kind = Literal["flat", "ivf", "hnsw"]
FEWEST_PER_LIST: Final = 39  # below that many documents per list its centre means little, and faiss says so
SAMPLE_PER_LIST: Final = 256  # documents per list that the centres are learned from; more change nothing
ADDED_AT_ONCE: Final = 4096


@dataclass(frozen=True)
class IndexSettings:
    """How documents are indexed.

    Attributes:
        kind: ``flat`` compares with every document and is exact; ``ivf`` looks into the nearest of some
            lists; ``hnsw`` walks a graph of neighbours.
        num_lists: ivf: lists; 0 for the square root of the number of documents.
        num_probes: ivf: lists looked into.
        num_links: hnsw: neighbours each document is linked with.
        build_effort: hnsw: candidates looked at for each link.
        search_effort: hnsw: candidates looked at for each query.
        seed: of what is drawn while building.
    """

    kind: Kind = "flat"
    num_lists: int = 0
    num_probes: int = 8
    num_links: int = 32
    build_effort: int = 100
    search_effort: int = 128
    seed: int = 0

    def lists_for(self, num_documents: int) -> int:
        """Lists of an ivf index of so many documents: what was asked for, unless they would be too small."""
        wanted = self.num_lists or round(math.sqrt(num_documents))
        return max(1, min(wanted, num_documents // FEWEST_PER_LIST))

    def build_flop(self, num_documents: int, length: int) -> float:
        """About how many multiplications and additions it takes to build the index."""
        if self.kind == "ivf":
            lists = self.lists_for(num_documents)
            sample = min(num_documents, SAMPLE_PER_LIST * lists)
            return 2.0 * length * lists * (10.0 * sample + num_documents)
        if self.kind == "hnsw":
            return 2.0 * length * num_documents * self.build_effort * max(8, self.num_links) / 4
        return 0.0

    def index_bytes(self, num_documents: int, length: int) -> int:
        """Memory and disk that the index takes, vectors included."""
        overhead = {"flat": 0, "ivf": 8, "hnsw": 8 * self.num_links + 16}[self.kind]
        return num_documents * (4 * length + overhead)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


FLAT: Final = IndexSettings()


class Index(Pool, Protocol):
    """A pool that knows how it is built and how fast it answers."""

    def latencies(self, queries_BD: Floats, *, k: int) -> NDArray[np.float64]:
        """Seconds that each query takes, asked one at a time, where the index is; shape (B,)."""

    def write(self, path: Path) -> None:
        """Save the index to ``path`` in faiss's own format.

        Raises:
            OSError: it could not be written.
        """
