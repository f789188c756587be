"""A labelled dataset made ready for training: tokens, numbered labels, the split.

Shape suffixes: N texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.datasets.labelled_texts import LabelledTexts
from trainer.datasets.splitting import Ints, Split
from trainer.language.token_cache import TokenRows

__all__ = ["Ints", "Material"]


@dataclass(frozen=True)
class Material:
    """Everything the task knows of its dataset.

    Attributes:
        texts: the dataset, with aliases applied.
        names: the labels; an example's number in ``labels_N`` is the place of its label here.
        tokens: of all texts, whole.
        split: which texts are trained on; the training side may be a part of what the dataset allows.
    """

    texts: LabelledTexts
    names: Sequence[str]
    labels_N: Ints
    tokens: TokenRows
    split: Split
