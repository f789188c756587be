"""The names of arrays under which NPZ files hold pairs of vectors; one layout per kind of file.

``query_vectors``, ``document_vectors`` are this program's own. The others are
those of earlier trainers: ``X_train Y_train X_val Y_val`` brings its own split,
``context_sequences target_vectors truth_keys`` tells the article of each pair.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from trainer.datasets.records import DatasetError

BANK_ARRAY: Final = "vectors"
SHARED_LABELS: Final = ("groups", "ids", "query_texts", "document_titles")
REMEDY: Final = (
    "needed are query_vectors and document_vectors, or X_train and Y_train (and X_val, Y_val), or "
    "context_sequences and target_vectors (and truth_keys)"
)


@dataclass(frozen=True)
class Part:
    """Two arrays whose rows belong together; ``is_held_out`` keeps them for evaluation."""

    queries: str
    documents: str
    prefix: str = ""
    is_held_out: bool = False
    is_optional: bool = False


@dataclass(frozen=True)
class Layout:
    """Which arrays hold the pairs.

    Attributes:
        parts: the pairs, one part behind the other.
        labels: role -> array of text or integers, one entry per pair.
        keys: array of integers (N,) or (N, K) whose first column is the group; empty for none.
    """

    parts: tuple[Part, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    keys: str = ""

    def vectors(self) -> list[str]:
        """The names of all arrays of vectors."""
        return [name for part in self.parts for name in (part.queries, part.documents)]


LAYOUTS: Final = (
    Layout((Part("query_vectors", "document_vectors"),), labels={role: role for role in SHARED_LABELS}),
    Layout(
        (
            Part("X_train", "Y_train", "train/"),
            Part("X_val", "Y_val", "val/", is_held_out=True, is_optional=True),
        )
    ),
    Layout((Part("context_sequences", "target_vectors"),), keys="truth_keys"),
)


def layout_of(place: object, names: Collection[str], columns: Mapping[str, str] | None = None) -> Layout:
    """The layout that arrays of these names have, without the parts that are left away.

    ``columns`` maps the roles of this program's own layout to arrays of other names; a label that maps to
    an empty name is played by none.

    Raises:
        DatasetError: no layout fits, an array of one is missing, or there is no such role; says which.
    """
    if columns:
        return _mapped(place, names, columns)
    for layout in LAYOUTS:
        if not set(layout.vectors()) & set(names):
            continue
        parts = [part for part in layout.parts if not part.is_optional or _is_there(part, names)]
        for part in parts:
            for name in (part.queries, part.documents):
                if name not in names:
                    raise _missing(place, name, names)
        return Layout(tuple(parts), layout.labels, layout.keys if layout.keys in names else "")
    if BANK_ARRAY in names:
        raise DatasetError(
            f"{place}: holds a bank of documents ({BANK_ARRAY}) and no pairs; choose the file with the pairs "
            "as the dataset, and this one as bank_file"
        )
    raise _missing(place, "query_vectors", names)


def _mapped(place: object, names: Collection[str], columns: Mapping[str, str]) -> Layout:
    own = LAYOUTS[0]
    queries, documents = own.vectors()
    roles = (queries, documents, *own.labels)
    for role in columns:
        if role not in roles:
            raise DatasetError(f"{place}: no array can play the role {role!r}; roles are {', '.join(roles)}")
    array_of = {role: columns.get(role, role).removesuffix(".npy") for role in roles}
    for role in (queries, documents):
        array = array_of[role] or role
        if array not in names:
            raise _missing(place, array if array == role else f"{array} ({role})", names)
    part = Part(array_of[queries] or queries, array_of[documents] or documents)
    return replace(own, parts=(part,), labels={role: array_of[role] for role in own.labels if array_of[role]})


def _is_there(part: Part, names: Collection[str]) -> bool:
    return part.queries in names or part.documents in names


def _missing(place: object, name: str, names: Collection[str]) -> DatasetError:
    there = ", ".join(sorted(names)) or "none"
    return DatasetError(f"{place}: array {name} is missing; {REMEDY}; the file has {there}")
