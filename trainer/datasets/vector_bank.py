"""A bank: documents beside those of the pairs, to be searched and mined.

Banks of earlier trainers hold the pairs' own documents too, sometimes rounded
to half precision.  They are recognised and left out, so that no query finds
its own document a second time and calls it wrong.

Shape suffixes: M documents of the bank, D length of a vector.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.npz_arrays import opened
from trainer.datasets.records import DatasetError, Tell, VectorPairs
from trainer.datasets.vector_layouts import BANK_ARRAY


def shape_of(path: Path) -> tuple[int, int]:
    """(M, D) of the bank in ``path``, from its header.

    Raises:
        DatasetError: it cannot be used; names file and array.
    """
    with opened(path) as npz:
        if BANK_ARRAY not in npz.names:
            there = ", ".join(sorted(npz.names)) or "none"
            raise DatasetError(f"{path}: array {BANK_ARRAY} is missing; the file has {there}")
        rows, length = npz.shape_of_vectors(BANK_ARRAY, dimensions=(2,))
    return rows, length


def with_bank(pairs: VectorPairs, path: Path, tell: Tell) -> VectorPairs:
    """``pairs`` with the documents of ``path`` that belong to none of them.

    Raises:
        DatasetError: the bank cannot be used; names file, array and row.
    """
    length, wanted = shape_of(path)[1], pairs.document_vectors.shape[1]
    if length != wanted:
        raise DatasetError(
            f"{path}, {BANK_ARRAY}: has vectors of length {length}, the pairs' documents have {wanted}"
        )
    tell(f"reading {path.name}", 0.1)
    with opened(path) as npz:
        bank_MD = npz.vectors(BANK_ARRAY)
    tell("looking for the pairs' documents in the bank", 0.6)
    seen = {_key(vector) for vector in pairs.document_vectors}
    kept = []
    for row, vector in enumerate(bank_MD):
        key = _key(vector)
        if key not in seen:
            seen.add(key)
            kept.append(row)
    digest = hashlib.sha256(pairs.content_hash.encode())
    digest.update(bank_MD.data)
    return replace(
        pairs,
        bank_vectors=bank_MD[kept],
        bank_ids=[f"{BANK_ARRAY}/{row}" for row in kept],
        content_hash=digest.hexdigest(),
    )


def _key(vector: NDArray[np.float32]) -> bytes:
    with np.errstate(over="ignore"):
        return hashlib.blake2b(vector.astype(np.float16).tobytes(), digest_size=16).digest()
