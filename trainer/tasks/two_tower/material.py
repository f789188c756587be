"""A dataset made ready for training: inputs of both towers, what answers what, and the split.

Shape suffixes: N pairs, M distinct documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.records import Tell, TextPairs, VectorPairs
from trainer.datasets.splitting import Split, numbered, split_by_group
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.features import FeatureSettings, Ints, cached_bags
from trainer.tasks.two_tower.inputs import BagInputs, Inputs, VectorInputs
from trainer.tasks.two_tower.text_reader import TextReader, WordReader

# from all queries and the distinct documents, as texts, to what the towers read
InputsOf = Callable[[Sequence[str], Sequence[str]], tuple[Inputs, Inputs]]


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
        bank: rows of the documents that belong to no pair: searched and mined beside the others.
        reader: how further texts are read; None where the dataset is vectors.
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
    bank: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    reader: TextReader | None = None

    def input_dims(self) -> dict[str, int]:
        """Lengths of the vectors that ``query`` and ``document`` tower read; empty where they read texts."""
        if self.reader is not None:
            return {}
        assert isinstance(self.queries, VectorInputs)  # noqa: S101 - there is nothing else without a reader
        assert isinstance(self.documents, VectorInputs)  # noqa: S101
        return {"query": self.queries.length, "document": self.documents.length}

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
    settings = FeatureSettings(params.num_buckets, params.ngram, params.max_features)

    def bags_of(texts: Sequence[str], side: str) -> Inputs:
        named = f"{pairs.content_hash}:{side}"
        bags = cached_bags(texts, settings, tell, content_hash=named, folder=cache)
        return BagInputs(bags, dropout=params.dropout)

    return material_of_texts(
        pairs,
        params,
        lambda queries, documents: (bags_of(queries, "queries"), bags_of(documents, "documents")),
        reader=WordReader(params),
    )


def material_of_texts(
    pairs: TextPairs, params: TwoTowerParams, inputs_of: InputsOf, *, reader: TextReader
) -> Material:
    """Find equal texts (they are one query or document) and split the groups.

    Args:
        pairs: the texts.
        params: the recipe's parameters.
        inputs_of: makes of all queries and of the distinct documents what the towers read.
        reader: makes the same of texts that come later.

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
    queries, documents = inputs_of(pairs.queries, texts)
    return Material(
        name=pairs.name,
        content_hash=pairs.content_hash,
        ids=pairs.ids,
        groups=pairs.groups,
        query_texts=pairs.queries,
        queries=queries,
        documents=documents,
        query_of_N=query_of_N,
        document_of_N=document_of_N,
        document_ids=[pairs.ids[row] for row in first_N.tolist()],
        document_titles=[pairs.titles[row] for row in first_N.tolist()],
        document_texts=texts,
        split=split,
        reader=reader,
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
        held_out=pairs.held_out,
    )
    first_N = _first_rows(document_of_N)
    titles = [pairs.titles[row] for row in first_N.tolist()]
    distinct: NDArray[np.float32] = pairs.document_vectors
    if len(first_N) < len(pairs):
        distinct = pairs.document_vectors[first_N]
    num_bank = 0 if pairs.bank_vectors is None else len(pairs.bank_vectors)
    if pairs.bank_vectors is not None:
        distinct = np.concatenate([distinct, pairs.bank_vectors])
        titles.extend(pairs.bank_ids)
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
        document_ids=[*(pairs.ids[row] for row in first_N.tolist()), *pairs.bank_ids],
        document_titles=titles,
        document_texts=titles,
        split=split,
        bank=np.arange(len(first_N), len(first_N) + num_bank, dtype=np.int64),
    )


def _folded(text: str) -> str:
    """Texts that differ in white space and case only are one text."""
    return " ".join(text.split()).casefold()


def _digest(vector: NDArray[np.float32]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(vector).data, digest_size=16).digest()


def _first_rows(numbers_N: Ints) -> Ints:
    """For each number the first row that has it."""
    return np.unique(numbers_N, return_index=True)[1].astype(np.int64)
