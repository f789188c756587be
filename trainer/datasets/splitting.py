"""Which pairs are trained on and which are kept for evaluation: whole groups, nothing leaks.

Groups that share a query or a document are one group here: otherwise the
answer to a held-out question could have been seen in training.  The choice
depends on the seed and the groups' names only, so the order of the file, a
restart or a resume cannot change it.

Shape suffixes: N pairs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.records import DatasetError

Ints = NDArray[np.int64]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Split:
    """Row numbers of the two sides, each in ascending order."""

    train: Ints
    held_out: Ints


def numbered(keys: Iterable[Hashable]) -> Ints:
    """For each key the number of its first appearance among distinct keys, shape (N,)."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def split_by_group(
    groups: Sequence[str],
    *,
    queries_N: Ints,
    documents_N: Ints,
    held_out_fraction: float,
    seed: int,
    held_out: Ints | None = None,
) -> Split:
    """Keep about ``held_out_fraction`` of the pairs for evaluation, whole groups at a time.

    Args:
        groups: the group of each pair.
        queries_N: a number per pair, equal for equal queries; ``documents_N`` likewise.
        held_out_fraction: share of the pairs to keep, in (0, 1).
        seed: another seed chooses other groups.
        held_out: rows that the dataset itself keeps for evaluation, ascending: nothing is chosen then.

    Raises:
        DatasetError: there are fewer than two groups that can be told apart.
    """
    if held_out is not None:
        return Split(np.setdiff1d(np.arange(len(groups), dtype=np.int64), held_out), held_out)
    component_N = _components(numbered(groups), queries_N, documents_N)
    sizes = np.bincount(component_N)
    if len(sizes) < 2:
        raise DatasetError(
            f"{len(groups):,} pairs form a single group (a shared group, query or document joins pairs); "
            "at least two groups are needed, one to train on and one to evaluate on"
        )
    chosen = _choose(_ranks(groups, component_N, seed), sizes, held_out_fraction * len(groups))
    is_held_out = chosen[component_N]
    return Split(np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))


def _components(*columns: Ints) -> Ints:
    """Number of the connected component of each row; rows sharing a value in any column are connected."""
    parent = list(range(len(columns[0])))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    for column in columns:
        first_row: dict[int, int] = {}
        for row, value in enumerate(column.tolist()):
            parent[root(row)] = root(first_row.setdefault(value, row))
    return numbered(root(row) for row in range(len(parent)))


def _ranks(groups: Sequence[str], component_N: Ints, seed: int) -> list[int]:
    """Components in an order drawn from the seed and the names of their groups alone."""
    lowest: dict[int, bytes] = {}
    for component, group in zip(component_N.tolist(), groups, strict=True):
        digest = hashlib.blake2b(f"{seed}:{group}".encode(errors="surrogatepass"), digest_size=8).digest()
        lowest[component] = min(digest, lowest.get(component, digest))
    return sorted(lowest, key=lambda component: (lowest[component], component))


def _choose(order: list[int], sizes: Ints, wanted: float) -> NDArray[np.bool_]:
    """Take components in order while they fit; a giant one is passed over if anything smaller is there."""
    chosen = np.zeros(len(sizes), dtype=bool)
    taken = 0
    for component in order:
        if taken >= wanted:
            break
        if taken + sizes[component] <= 1.5 * wanted:
            chosen[component] = True
            taken += int(sizes[component])
    if taken == 0:
        chosen[min(order, key=lambda component: int(sizes[component]))] = True
    return chosen


def split_stratified(
    groups: Sequence[str], *, labels_N: Ints, texts_N: Ints, held_out_fraction: float, seed: int
) -> Split:
    """Keep about ``held_out_fraction`` of every label for evaluation, whole groups at a time.

    Examples with the same text are one group here, whatever their label.
    Every label keeps at least one example to train on; each has one held out
    too, unless all of its examples are in one group.

    Args:
        groups: the group of each example.
        labels_N: the label of each, numbered from 0.
        texts_N: a number per example, equal for equal texts.
        held_out_fraction: share of the examples to keep, in (0, 1).
        seed: another seed chooses other groups.

    Raises:
        DatasetError: there are fewer than two groups that can be told apart.
    """
    component_N = _components(numbered(groups), texts_N)
    num_components = int(component_N.max()) + 1 if len(component_N) else 0
    if num_components < 2:
        raise DatasetError(
            f"{len(groups):,} examples form a single group (a shared group or text joins examples); at least "
            "two groups are needed, one to train on and one to evaluate on"
        )
    parts = _label_counts(component_N, labels_N)
    left = np.bincount(labels_N).astype(np.float64)
    wanted = np.clip(held_out_fraction * left, 1.0, None)
    taken = np.zeros_like(wanted)
    chosen = np.zeros(num_components, dtype=bool)
    order = _ranks(groups, component_N, seed)
    for is_second_pass in (False, True):
        for component in order if not is_second_pass else sorted(order, key=lambda one: parts[one][1].sum()):
            labels, counts = parts[component]
            if chosen[component] or np.any(left[labels] - counts < 1):
                continue
            before = (wanted - taken)[labels]
            if is_second_pass:
                is_better = bool(np.any(taken[labels] == 0))
            else:
                is_better = float((((before - counts) ** 2 - before**2) / wanted[labels]).sum()) < 0
            if is_better:
                chosen[component] = True
                taken[labels] += counts
                left[labels] -= counts
    if not chosen.any():
        chosen[min(order, key=lambda one: parts[one][1].sum())] = True
    is_held_out = chosen[component_N]
    return Split(np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))


def _label_counts(component_N: Ints, labels_N: Ints) -> list[tuple[Ints, Ints]]:
    """For each component its labels and how many examples it has of each."""
    width = int(labels_N.max()) + 1
    pairs, counts = np.unique(component_N * width + labels_N, return_counts=True)
    bounds = np.searchsorted(pairs, np.arange(int(component_N.max()) + 2) * width)
    return [
        (pairs[start:stop] % width, counts[start:stop])
        for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]
