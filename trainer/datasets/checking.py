"""Whether a file is a dataset that can be trained on: read by the readers that training uses, and split.

Nothing is kept of it; what is told are counts and the hash of its bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from trainer.datasets import pairs, vectors
from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.records import DatasetError, Tell
from trainer.datasets.splitting import numbered, split_by_group

_BLOCK_BYTES: Final = 1024 * 1024
_HELD_OUT: Final = 0.1  # any share will do: whether there are two groups to tell apart does not depend on it


@dataclass(frozen=True)
class CheckedDataset:
    """What a sound dataset holds; ``sha256`` is that of the file, byte for byte."""

    kind: str
    num_pairs: int
    num_groups: int
    num_bytes: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def check(path: Path, tell: Tell) -> CheckedDataset:
    """Read ``path`` as training would.

    Raises:
        DatasetError: names file, line and column of what is wrong, or says that it cannot be split.
    """
    ending = path.suffix.lower()
    if ending not in (*pairs.ENDINGS, *vectors.ENDINGS):
        known = ", ".join([*pairs.ENDINGS, *vectors.ENDINGS])
        raise DatasetError(f"{path}: has an unknown ending; known are {known}")
    num_bytes = check_regular(path)
    queries: Iterable[Hashable]
    documents: Iterable[Hashable]
    if ending in vectors.ENDINGS:
        kind, found = "vectors", vectors.read(path, tell)
        queries = (vector.tobytes() for vector in found.query_vectors)
        documents = (vector.tobytes() for vector in found.document_vectors)
        groups = found.groups
    else:
        kind, texts = "texts", pairs.read(path, tell)
        queries, documents = map(_folded, texts.queries), map(_folded, texts.documents)
        groups = texts.groups
    try:
        split_by_group(
            groups,
            queries_N=numbered(queries),
            documents_N=numbered(documents),
            held_out_fraction=_HELD_OUT,
            seed=0,
        )
    except DatasetError as exc:
        raise DatasetError(f"{path}: {exc}") from exc
    return CheckedDataset(kind, len(groups), len(set(groups)), num_bytes, sha256_of(path))


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal.

    Raises:
        DatasetError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError as exc:
        raise unreadable(path, exc) from exc
    return digest.hexdigest()


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
