"""A dataset made ready for training: inputs of both towers, what answers what, and the split.

Shape suffixes: N pairs, M distinct documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.records import Tell, TextPairs, VectorPairs
from trainer.datasets.splitting import Split, numbered, split_by_group
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.features import FeatureSettings, Ints, cached_bags
from trainer.tasks.two_tower.inputs import BagInputs, Inputs, VectorInputs


@dataclass(frozen=True)
class Material:
    """Everything the task knows of its dataset.

    Attributes:
        name: the dataset's name.
        content_hash: of the dataset; a resumed run must find the same.
        ids: one per pair; ``groups`` and ``query_texts`` likewise.
        queries: the query tower's inputs, one row per pair.
        documents: the document tower's inputs, one row per distinct document.
        query_of_N: number of each pair's distinct query.
        document_of_N: row of each pair's document.
        document_ids: id of each distinct document: that of the first pair it answers.
        document_titles: one short line each; ``document_texts`` is the whole text.
        split: which pairs are trained on.
    """

    name: str
    content_hash: str
    ids: Sequence[str]
    groups: Sequence[str]
    query_texts: Sequence[str]
    queries: Inputs
    documents: Inputs
    query_of_N: Ints
    document_of_N: Ints
    document_ids: Sequence[str]
    document_titles: Sequence[str]
    document_texts: Sequence[str]
    split: Split

    def golds(self) -> list[Ints]:
        """For each distinct query the documents that answer it, ascending."""
        order = np.lexsort((self.document_of_N, self.query_of_N))
        queries, documents = self.query_of_N[order], self.document_of_N[order]
        bounds = np.flatnonzero(np.diff(queries)) + 1
        return [np.unique(some) for some in np.split(documents, bounds)]


def from_texts(pairs: TextPairs, params: TwoTowerParams, *, cache: Path, tell: Tell) -> Material:
    """Hash the texts (or take the hashes kept in ``cache``) and split the groups.

    Raises:
        DatasetError: there are too few groups to split.
    """
    query_of_N = numbered(_folded(text) for text in pairs.queries)
    document_of_N = numbered(_folded(text) for text in pairs.documents)
    split = split_by_group(
        pairs.groups,
        queries_N=query_of_N,
        documents_N=document_of_N,
        held_out_fraction=params.held_out_fraction,
        seed=params.seed,
    )
    first_N = _first_rows(document_of_N)
    texts = [pairs.documents[row] for row in first_N.tolist()]
    settings = FeatureSettings(params.num_buckets, params.ngram, params.max_features)
    query_bags = cached_bags(
        pairs.queries, settings, tell, content_hash=f"{pairs.content_hash}:queries", folder=cache
    )
    document_bags = cached_bags(
        texts, settings, tell, content_hash=f"{pairs.content_hash}:documents", folder=cache
    )
    return Material(
        name=pairs.name,
        content_hash=pairs.content_hash,
        ids=pairs.ids,
        groups=pairs.groups,
        query_texts=pairs.queries,
        queries=BagInputs(query_bags, dropout=params.dropout),
        documents=BagInputs(document_bags, dropout=params.dropout),
        query_of_N=query_of_N,
        document_of_N=document_of_N,
        document_ids=[pairs.ids[row] for row in first_N.tolist()],
        document_titles=[pairs.titles[row] for row in first_N.tolist()],
        document_texts=texts,
        split=split,
    )


def from_vectors(pairs: VectorPairs, params: TwoTowerParams, *, pin_memory: bool = False) -> Material:
    """Find equal vectors (they are one query or document) and split the groups.

    ``pin_memory`` collects batches in page-locked memory, for a CUDA device.

    Raises:
        DatasetError: there are too few groups to split.
    """
    query_of_N = numbered(_digest(vector) for vector in pairs.query_vectors)
    document_of_N = numbered(_digest(vector) for vector in pairs.document_vectors)
    split = split_by_group(
        pairs.groups,
        queries_N=query_of_N,
        documents_N=document_of_N,
        held_out_fraction=params.held_out_fraction,
        seed=params.seed,
    )
    first_N = _first_rows(document_of_N)
    titles = [pairs.titles[row] for row in first_N.tolist()]
    distinct: NDArray[np.float32] = pairs.document_vectors
    if len(first_N) < len(pairs):
        distinct = pairs.document_vectors[first_N]
    has_dropout = params.dropout > 0 and params.num_layers > 1
    return Material(
        name=pairs.name,
        content_hash=pairs.content_hash,
        ids=pairs.ids,
        groups=pairs.groups,
        query_texts=pairs.queries_text,
        queries=VectorInputs(pairs.query_vectors, has_dropout=has_dropout, pin_memory=pin_memory),
        documents=VectorInputs(distinct, pin_memory=pin_memory),
        query_of_N=query_of_N,
        document_of_N=document_of_N,
        document_ids=[pairs.ids[row] for row in first_N.tolist()],
        document_titles=titles,
        document_texts=titles,
        split=split,
    )


def _folded(text: str) -> str:
    """Texts that differ in white space and case only are one text."""
    return " ".join(text.split()).casefold()


def _digest(vector: NDArray[np.float32]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(vector).data, digest_size=16).digest()


def _first_rows(numbers_N: Ints) -> Ints:
    """For each number the first row that has it."""
    return np.unique(numbers_N, return_index=True)[1].astype(np.int64)
