"""Reads a two-tower dataset before a run, within bounds, and says what would become of it.

Small files are read whole, by the readers the trainer uses; of large ones the
beginning is read and the rest is counted or estimated.  Loads no training
library.

Shape suffixes: N pairs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from trainer.datasets import pairs, python_docs, vector_bank, vectors
from trainer.datasets.files import check_regular
from trainer.datasets.records import DatasetError, TextPairs, VectorPairs
from trainer.datasets.splitting import numbered, split_by_group
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.judging import unusable
from trainer.preflight.outlook import Examples, Survey
from trainer.preflight.question import Question
from trainer.tasks.two_tower.encoder_sizes import EncoderSize, encoder_size, uses_encoder
from trainer.tasks.two_tower.features import FeatureSettings, bags_of
from trainer.tasks.two_tower.forecast import Facts, foresee

TITLE: Final = "Dataset"
WHOLE_TEXT_BYTES: Final = 64 * 1024 * 1024
HEAD_TEXT_BYTES: Final = 8 * 1024 * 1024
WHOLE_VECTOR_BYTES: Final = 256 * 1024 * 1024
HEAD_ROWS: Final = 1000
WORDS: Final = ("query", "document")
SAMPLE: Final = 200  # texts hashed to know how many features a text has
SHOWN_CHARACTERS: Final = 120
REMEDY: Final = "Put that place right. Columns: query and document, optionally group and id."
REMEDY_VECTORS: Final = (
    "Arrays: query_vectors [N,T,D] or [N,D] and document_vectors [N,D], floats; docs/vectors.md names the "
    "others that are read."
)


@dataclass(frozen=True)
class _Read:
    """What was read of the dataset; ``scale`` is how many times more there is."""

    rows: TextPairs | VectorPairs
    scale: float
    num_pairs: int
    counted: str  # how the number of pairs is known, for people


def survey(question: Question) -> Survey:
    """Read, split, foresee."""
    if question.dataset == python_docs.NAME:
        corpus = python_docs.kept(question.datasets_dir)
        if corpus is None:
            return _unbuilt(question)
        return _surveyed(question, _Read(corpus, 1.0, len(corpus), "counted"))
    try:
        read = _read(Path(question.dataset), question.columns)
        return _surveyed(question, read, num_bank=_num_bank(question, read.rows))
    except DatasetError as exc:
        ending = Path(question.dataset).suffix.lower()
        remedy = REMEDY_VECTORS if ending in vectors.ENDINGS else REMEDY
        found = unusable(exc)
        return Survey((Check("dataset", TITLE, Verdict.PROBLEM, found, remedy, {"path": question.dataset}),))


def _read(path: Path, columns: Mapping[str, str]) -> _Read:
    """Read a file, or the beginning of a large one.

    Raises:
        DatasetError: names the place of what is wrong.
    """
    ending = path.suffix.lower()
    if ending in vectors.ENDINGS:
        return _read_vectors(path, columns)
    if ending not in pairs.ENDINGS:
        known = ", ".join([*pairs.ENDINGS, *vectors.ENDINGS])
        check_regular(path)  # a folder or a missing file is the better reason
        raise DatasetError(f"{path}: its name must end in one of {known}")
    is_large = check_regular(path) > WHOLE_TEXT_BYTES
    head = pairs.read_head(path, _silent, max_bytes=HEAD_TEXT_BYTES if is_large else None, columns=columns)
    if head.is_whole:
        return _Read(head.pairs, 1.0, len(head.pairs), "counted")
    scale = head.file_bytes / head.read_bytes
    return _Read(
        head.pairs, scale, round(len(head.pairs) * scale), f"estimated from the first {len(head.pairs):,}"
    )


def _read_vectors(path: Path, columns: Mapping[str, str]) -> _Read:
    if check_regular(path) <= WHOLE_VECTOR_BYTES:
        head = vectors.read_head(path, num_rows=1, columns=columns)
        unpacked = 4 * (int(np.prod(head.query_shape)) + int(np.prod(head.document_shape)))
        if unpacked <= 2 * WHOLE_VECTOR_BYTES:
            rows = vectors.read(path, _silent, columns)
            return _Read(rows, 1.0, len(rows), "counted")
    head = vectors.read_head(path, num_rows=HEAD_ROWS, columns=columns)
    total = head.query_shape[0]
    return _Read(
        head.first, total / len(head.first), total, f"counted, the first {len(head.first):,} looked at"
    )


def _num_bank(question: Question, rows: TextPairs | VectorPairs) -> int:
    """Documents in the bank that the run asks for, those of the pairs among them.

    Raises:
        DatasetError: it cannot be used with these pairs.
    """
    name = question.params["bank_file"]
    if not name:
        return 0
    if isinstance(rows, TextPairs):
        raise DatasetError(f"{rows.name} holds texts, and bank_file names a bank of vectors; clear it")
    path = Path(question.dataset).with_name(name)
    count, length = vector_bank.shape_of(path)
    wanted = rows.document_vectors.shape[1]
    if length != wanted:
        raise DatasetError(f"{path}: has vectors of length {length}, the pairs' documents have {wanted}")
    return count


def _surveyed(question: Question, read: _Read, *, num_bank: int = 0) -> Survey:
    params, rows = question.params, read.rows
    keys = _keys(rows)
    query_of_N, document_of_N = numbered(keys[0]), numbered(keys[1])
    try:
        split = split_by_group(
            rows.groups,
            queries_N=query_of_N,
            documents_N=document_of_N,
            held_out_fraction=params["held_out_fraction"],
            seed=params["seed"],
            held_out=rows.held_out if isinstance(rows, VectorPairs) else None,
        )
    except DatasetError as exc:
        remedy = "Give the pairs different groups, or leave the group column away."
        details = {"path": question.dataset}
        return Survey((Check("dataset", TITLE, Verdict.PROBLEM, f"{exc}.", remedy, details),))
    facts = Facts(
        num_pairs=read.num_pairs,
        num_train=round(len(split.train) * read.scale),
        num_held_out=round(len(split.held_out) * read.scale),
        num_documents=round(int(document_of_N.max() + 1) * read.scale) + num_bank,
        num_candidates=round(len(np.unique(document_of_N[split.held_out])) * read.scale) + num_bank,
        num_groups=round(len(set(rows.groups)) * read.scale),
        num_bank=num_bank,
        is_estimated=read.scale > 1.0,
        query_shape=None if isinstance(rows, TextPairs) else rows.query_vectors.shape[1:],
        document_dim=None if isinstance(rows, TextPairs) else rows.document_vectors.shape[1],
        encoder=_encoder(question) if isinstance(rows, TextPairs) else None,
        **(_text_facts(rows, params) if isinstance(rows, TextPairs) else {}),
    )
    shown = _texts(rows)
    answers = (rows.ids, rows.titles, rows.documents) if isinstance(rows, TextPairs) else None
    examples = Examples(rows.ids, shown[0], shown[1], split.train, split.held_out, WORDS, answers)
    return Survey(
        (_described(question, read, facts, examples), _split_check(facts, params, rows=rows)),
        foresee(facts, params),
        examples,
    )


def _unbuilt(question: Question) -> Survey:
    """The built-in corpus before its first use: nothing is wrong, and nothing exact is known."""
    expected, params = python_docs.expected_pairs(), question.params
    held_out = round(expected * params["held_out_fraction"])
    facts = Facts(
        num_pairs=expected,
        num_train=expected - held_out,
        num_held_out=held_out,
        num_documents=expected,
        num_candidates=held_out,
        num_groups=expected // 11,
        is_estimated=True,
        mean_query_characters=62.0,
        mean_document_characters=476.0,
        query_features=48.0,
        document_features=133.0,
        encoder=_encoder(question),
    )
    found = f"{python_docs.NAME} is built at the first run, in 10 to 60 s; about {expected:,} pairs."
    remedy = f"To build it now: python -m trainer datasets --build {python_docs.NAME}"
    return Survey((Check("dataset", TITLE, Verdict.NOTE, found, remedy),), foresee(facts, params))


def _encoder(question: Question) -> EncoderSize | None:
    """The encoder that texts are to be read with; None for words."""
    if not uses_encoder(question.params):
        return None
    return encoder_size(question.params, datasets_dir=question.datasets_dir)


def _described(question: Question, read: _Read, facts: Facts, examples: Examples) -> Check:
    rows = read.rows
    kind = "text" if isinstance(rows, TextPairs) else "vectors"
    found = (
        f"{'About ' if facts.is_estimated and 'estimated' in read.counted else ''}{read.num_pairs:,} pairs"
    )
    found += f" of {kind} in {facts.num_groups:,} groups ({read.counted})."
    details: dict[str, Any] = {
        "path": question.dataset,
        "pairs": read.num_pairs,
        "how": read.counted,
        "groups": facts.num_groups,
        "documents": facts.num_documents,
        "query_shape": None if facts.query_shape is None else list(facts.query_shape),
        "document_dim": facts.document_dim,
        "first": [
            {
                "id": examples.ids[row],
                "group": rows.groups[row],
                "query": examples.inputs[row][:SHOWN_CHARACTERS],
                "document": examples.outputs[row][:SHOWN_CHARACTERS],
            }
            for row in range(min(3, len(rows)))
        ],
    }
    return Check("dataset", TITLE, Verdict.OK, found, "", details)


def _split_check(facts: Facts, params: dict[str, Any], *, rows: TextPairs | VectorPairs) -> Check:
    """How the pairs are divided, which whole groups may make impossible to do as asked."""
    wanted, total = params["held_out_fraction"], facts.num_train + facts.num_held_out
    share = facts.num_held_out / total
    about = "About " if facts.is_estimated else ""
    found = f"{about}{facts.num_train:,} to train on, {facts.num_held_out:,} held out ({share:.1%})"
    details = {"train": facts.num_train, "held_out": facts.num_held_out, "candidates": facts.num_candidates}
    if isinstance(rows, VectorPairs) and rows.held_out is not None:
        return Check("split", "Split", Verdict.OK, f"{found}, as the file itself divides them.", "", details)
    if not 0.5 * wanted <= share <= 2.0 * wanted:
        found += f", where {wanted:.0%} was asked for: groups stay whole, and some are very large"
        remedy = "Use smaller groups; pairs that share a query or a document are one group in any case."
        return Check("split", "Split", Verdict.WARNING, f"{found}.", remedy, details)
    return Check("split", "Split", Verdict.OK, f"{found}.", "", details)


def _keys(rows: TextPairs | VectorPairs) -> tuple[list[Any], list[Any]]:
    """What makes two queries, or two documents, one to the trainer."""
    if isinstance(rows, TextPairs):
        return [_folded(text) for text in rows.queries], [_folded(text) for text in rows.documents]
    return [_digest(row) for row in rows.query_vectors], [_digest(row) for row in rows.document_vectors]


def _texts(rows: TextPairs | VectorPairs) -> tuple[Sequence[str], Sequence[str]]:
    if isinstance(rows, TextPairs):
        return rows.queries, rows.documents
    queries, documents = _keys(rows)
    return queries, documents


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _digest(vector: Any) -> str:
    return hashlib.blake2b(np.ascontiguousarray(vector).data, digest_size=16).hexdigest()


def _text_facts(rows: TextPairs, params: dict[str, Any]) -> dict[str, float]:
    """How long the texts are, and how many features a sample of them has."""
    settings = FeatureSettings(params["num_buckets"], params["ngram"], params["max_features"])
    some = slice(None, None, max(1, len(rows) // SAMPLE))
    return {
        "mean_query_characters": _mean_length(rows.queries),
        "mean_document_characters": _mean_length(rows.documents),
        "query_features": _mean_features(rows.queries[some], settings),
        "document_features": _mean_features(rows.documents[some], settings),
    }


def _mean_features(texts: list[str], settings: FeatureSettings) -> float:
    return len(bags_of(texts, settings, _silent).ids) / max(1, len(texts))


def _mean_length(texts: Sequence[str]) -> float:
    return sum(map(len, texts)) / max(1, len(texts))


def _silent(detail: str, fraction: float) -> None:
    """Nobody waits long enough to be told how far the reading is."""
