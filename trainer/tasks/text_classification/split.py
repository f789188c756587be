"""Which labelled texts are trained on and which are held out; loads no training library.

Shape suffixes: N texts.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from trainer.datasets.labelled_texts import LabelledTexts
from trainer.datasets.records import DatasetError
from trainer.datasets.splitting import Ints, Split, numbered, split_stratified
from trainer.recipes.text_classification import TextClassificationParams

_SUBSET: Final = 3  # stream of random numbers, beside those of the batches


def split_texts(texts: LabelledTexts, params: TextClassificationParams) -> Split:
    """Divide the texts, and limit those trained on as the parameters say.

    Raises:
        DatasetError: they cannot be divided, or a label cannot be on both sides.
    """
    labels_N = texts.numbers_N()
    try:
        split = split_stratified(
            texts.groups,
            labels_N=labels_N,
            texts_N=numbered(folded(text) for text in texts.texts),
            held_out_fraction=params.held_out_fraction,
            seed=params.seed,
        )
    except DatasetError as exc:
        raise DatasetError(f"{texts.file_name}: {exc}") from exc
    _check_sides(texts, labels_N, split, allow=params.unseen_labels == "allow")
    return Split(_limited(split.train, labels_N, params), split.held_out)


def folded(text: str) -> str:
    """Texts that differ in white space and case only are one text."""
    return " ".join(text.split()).casefold()


def _check_sides(texts: LabelledTexts, labels_N: Ints, split: Split, *, allow: bool) -> None:
    """Whether every label can be learned and measured.

    Raises:
        DatasetError: names the label and where it stands.
    """
    num_labels = int(labels_N.max()) + 1
    names = texts.names()
    trained = np.bincount(labels_N[split.train], minlength=num_labels)
    measured = np.bincount(labels_N[split.held_out], minlength=num_labels)
    if (trained == 0).any():
        label = int(np.flatnonzero(trained == 0)[0])
        raise DatasetError(
            f"{texts.file_name}: no text with the label {names[label]!r} ({_place(texts, labels_N, label)}) "
            "is left to train on: all are in one group with most others. Use smaller groups"
        )
    unseen = np.flatnonzero(measured == 0)
    if len(unseen) and not allow:
        label = int(unseen[0])
        others = f", and {len(unseen) - 1} more labels" if len(unseen) > 1 else ""
        raise DatasetError(
            f"{texts.file_name}: the label {names[label]!r} ({_place(texts, labels_N, label)}{others}) has "
            f"all its {int(trained[label])} texts in one group, so none can be held out and it would never "
            "be measured. Add texts of it in other groups, join it to another label with label_aliases, "
            "remove it, or set unseen_labels to allow"
        )


def _place(texts: LabelledTexts, labels_N: Ints, label: int) -> str:
    row = int(np.flatnonzero(labels_N == label)[0])
    return texts.places[row] or texts.ids[row]


def _limited(rows: Ints, labels_N: Ints, params: TextClassificationParams) -> Ints:
    """At most as many rows as asked for, of every label its share; of fewer, all are among those of more."""
    limit = int(np.ceil(len(rows) * params.train_fraction))
    limit = min(limit, params.max_examples or limit)
    if len(rows) <= limit:
        return rows
    shuffled = np.random.default_rng([params.seed, _SUBSET]).permutation(rows)
    labels = labels_N[shuffled]
    place = np.empty(len(shuffled))
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        place[own] = np.arange(len(own)) / len(own)  # the first of every label come before all second ones
    return np.sort(shuffled[np.argsort(place, kind="stable")[:limit]])
