"""What the files named by ``near_miss_file`` and ``p_cache_file`` mean for a dataset.

A near miss that answers its query, copies its answer, or is held out would
harm more than it helps; such rows are left out and counted.

Shape suffixes: M distinct documents, N rows, D length of the vectors.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.near_misses import NearMissFile, PCache, file_beside, read
from trainer.datasets.records import DatasetError, Tell
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.features import Ints
from trainer.tasks.two_tower.inputs import VectorInputs
from trainer.tasks.two_tower.material import Material
from trainer.tasks.two_tower.near_misses import Supplied

log = logging.getLogger(__name__)
_COPY, _ANSWER, _HELD_OUT = "copies of the answer", "answers", "held out"
_BLOCK: Final = 65_536

Floats = NDArray[np.float32]


def supplied_by_files(
    material: Material, params: TwoTowerParams, *, dataset: str, datasets_dir: Path, tell: Tell
) -> tuple[Material, Supplied | None]:
    """The dataset with the further documents of the files, and what the files say of them.

    The content hash covers the files, so a run does not resume with others.

    Raises:
        DatasetError: a file cannot be used; the message names the place and the remedy.
    """
    if not (params.near_miss_file or params.p_cache_file):
        return material, None
    cache = _open_cache(material, params, dataset, datasets_dir) if params.p_cache_file else None
    named = None
    if params.near_miss_file:
        named = read(
            file_beside(dataset, params.near_miss_file, datasets_dir=datasets_dir),
            num_queries=len(material.ids),
            num_documents=len(material.ids) if cache is None else len(cache),
            tell=tell,
        )
        _check_golds(named, material, is_of_cache=cache is not None)
    if cache is None:
        number_of = material.document_of_N
    else:
        wanted = np.arange(len(cache)) if named is None else _named_rows(named)
        material, number_of = _with_cache(material, cache, wanted)
    parts = (material.content_hash, "" if named is None else named.sha256)
    material = replace(material, content_hash=hashlib.sha256(":".join(parts).encode()).hexdigest())
    held_out = _held_out_only(material)
    if named is None:
        return material, Supplied(None, np.setdiff1d(number_of, held_out))
    misses = _misses(named, material, number_of, held_out, copy_cosine=params.filter_threshold)
    return material, Supplied(misses, np.empty(0, dtype=np.int64))


def _open_cache(material: Material, params: TwoTowerParams, dataset: str, datasets_dir: Path) -> PCache:
    if material.reader is not None or not isinstance(material.documents, VectorInputs):
        raise DatasetError(
            f"{params.p_cache_file} holds vectors, and {material.name} holds texts: leave p_cache_file "
            "empty, or train on vectors"
        )
    cache = PCache(file_beside(dataset, params.p_cache_file, datasets_dir=datasets_dir))
    dim = material.documents.array().shape[1]
    if cache.dim != dim:
        raise DatasetError(
            f"{cache.path}: its vectors have length {cache.dim}, those of {material.name}'s documents {dim}"
        )
    return cache


def _check_golds(named: NearMissFile, material: Material, *, is_of_cache: bool) -> None:
    """The answers the miner knew must be those of the dataset, or the file is of another order of it."""
    if is_of_cache:
        return  # their rows are those of the cache
    golds = material.golds()
    for one in named.lines:
        if one.gold is None:
            continue
        document = int(material.document_of_N[one.gold])
        if document not in golds[int(material.query_of_N[one.query])]:
            raise DatasetError(
                f"{named.path}, line {one.line}, gold_idx: row {one.gold} does not answer query {one.query} "
                "here; the file was mined for another dataset or another order of it. Mine it again."
            )


def _named_rows(named: NearMissFile) -> Ints:
    return np.unique(np.array([row for one in named.lines for row in one.misses], dtype=np.int64))


def _with_cache(material: Material, cache: PCache, wanted: Ints) -> tuple[Material, Ints]:
    """The dataset with the rows ``wanted`` of the cache behind its documents, and the number of each row.

    A row that equals a document, or another row, is the same document. Rows not wanted have the number -1.
    """
    inputs = material.documents
    assert isinstance(inputs, VectorInputs)  # noqa: S101 - looked at when the cache was opened
    number_of_vector = {_digest(vector): number for number, vector in enumerate(inputs.array())}
    numbers = np.full(len(cache), -1, dtype=np.int64)
    further: list[Floats] = []
    digest = hashlib.sha256(material.content_hash.encode())
    for start in range(0, len(wanted), _BLOCK):
        rows = wanted[start : start + _BLOCK]
        vectors = cache.rows(rows)
        digest.update(rows.tobytes())
        digest.update(vectors.data)
        is_new = np.zeros(len(rows), dtype=bool)
        for place, vector in enumerate(vectors):
            next_number = len(number_of_vector)
            number = number_of_vector.setdefault(_digest(vector), next_number)
            is_new[place] = number == next_number
            numbers[rows[place]] = number
        further.append(vectors[is_new])
    extended = inputs.extended(np.concatenate(further)) if further else inputs
    return replace(material, documents=extended, content_hash=digest.hexdigest()), numbers


def _misses(
    named: NearMissFile, material: Material, number_of: Ints, held_out: Ints, *, copy_cosine: float
) -> dict[int, Ints]:
    """For each pair that is trained on the documents named as its near misses, less those that are none."""
    golds, hidden = material.golds(), set(held_out.tolist())
    trained = set(material.split.train.tolist())
    left_out: Counter[str] = Counter()
    misses: dict[int, Ints] = {}
    for one in named.lines:
        if one.query not in trained:
            continue
        answers = golds[int(material.query_of_N[one.query])]
        numbers = np.array([int(number_of[row]) for row in dict.fromkeys(one.misses)], dtype=np.int64)
        is_answer = np.isin(numbers, answers)
        is_hidden = np.array([number in hidden for number in numbers.tolist()], dtype=bool)
        is_copy = _copies(material, numbers, answers, cosine=copy_cosine) & ~is_answer
        left_out.update({_ANSWER: int(is_answer.sum()), _HELD_OUT: int(is_hidden.sum())})
        left_out[_COPY] += int(is_copy.sum())
        misses[one.query] = numbers[~(is_answer | is_hidden | is_copy)]
    told = ", ".join(f"{count:,} {what}" for what, count in left_out.items() if count)
    log.info("%s: near misses of %d pairs; left out: %s", named.path.name, len(misses), told or "none")
    return misses


def _copies(material: Material, numbers: Ints, answers: Ints, *, cosine: float) -> NDArray[np.bool_]:
    """Which documents point the same way as an answer; texts are compared word for word already."""
    is_text = material.reader is not None  # a frozen encoder's vectors of texts are all much alike
    if is_text or not isinstance(material.documents, VectorInputs) or len(numbers) == 0:
        return np.zeros(len(numbers), dtype=bool)
    vectors = material.documents.array()
    found, wanted = _unit(vectors[numbers]), _unit(vectors[answers])
    copies: NDArray[np.bool_] = np.any(found @ wanted.T >= cosine, axis=1)
    return copies


def _held_out_only(material: Material) -> Ints:
    """Documents of held-out pairs; the split keeps them apart from those of training pairs."""
    return np.unique(material.document_of_N[material.split.held_out])


def _unit(vectors: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = vectors / lengths
    return unit


def _digest(vector: Floats) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(vector).data, digest_size=16).digest()
