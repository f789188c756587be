"""How a text that comes after the dataset is read: with the same words, or the same tokens, as its texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from torch import nn

from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.features import FeatureSettings, bags_of
from trainer.tasks.two_tower.inputs import BagInputs, Inputs


class TextReader(Protocol):
    """Reads texts for the towers of one run."""

    def inputs(self, texts: Sequence[str]) -> Inputs:
        """What a tower reads of ``texts``."""

    def encoders(self, towers: Mapping[str, nn.Module]) -> dict[str, nn.Module]:
        """The Hugging Face encoders in ``towers`` or before them, by their folder in an export."""

    def write(self, encoder: nn.Module, folder: Path) -> None:
        """Write one of the :meth:`encoders` with its tokenizer, as ``save_pretrained`` does."""


class WordReader:
    """Hashes words and n-grams; implements :class:`TextReader`."""

    def __init__(self, params: TwoTowerParams) -> None:
        self._settings = FeatureSettings(params.num_buckets, params.ngram, params.max_features)

    def inputs(self, texts: Sequence[str]) -> Inputs:
        """The features of each text."""
        return BagInputs(bags_of(texts, self._settings, _nobody))

    def encoders(self, towers: Mapping[str, nn.Module]) -> dict[str, nn.Module]:
        """None."""
        return {}

    def write(self, encoder: nn.Module, folder: Path) -> None:
        """Never asked: there are no encoders."""
        raise ValueError("hashed words have no encoder to write")


def _nobody(detail: str, fraction: float) -> None:
    """A few texts are hashed at once."""
