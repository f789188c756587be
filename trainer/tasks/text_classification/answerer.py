"""Asks a checkpoint which label a text has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from trainer.datasets.records import Tell
from trainer.engine import devices
from trainer.language.token_cache import tokens_of
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.text_classification import TextClassificationParams
from trainer.tasks.text_classification.batches import Cutter
from trainer.tasks.text_classification.model import Classifier
from trainer.tasks.text_classification.saved_model import SavedModel, open_checkpoint

MOST_LABELS: Final = 50


class LabelAnswerer:
    """Predicts the label of a text with the probability of every one."""

    def __init__(self, saved: SavedModel, *, device: torch.device, max_length: int) -> None:
        self._saved, self._max_length = saved, max_length
        self._classifier = Classifier(saved.model, device=device, precision="fp32")
        self._device = device

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The labels of ``question["text"]``, most probable first.

        Returns:
            ``kind``, ``label``, ``labels`` (``label`` and ``probability`` each), ``num_tokens`` of the text
            and whether it ``is_cut``, because the model reads only so many.
        """
        tokenizer = self._saved.tokenizer
        tokens = tokens_of([str(question["text"])], tokenizer, tell=lambda detail, fraction: None)
        cutter = Cutter(
            tokens,
            max_length=self._max_length,
            closing_ids=frozenset(tokenizer.all_special_ids),
            padding_id=int(tokenizer.pad_token_id),
        )
        one = np.zeros(1, dtype=np.int64)
        with torch.no_grad():
            logits = self._classifier.logits(cutter.batch(one, one).to(self._device))
        probabilities = torch.softmax(logits[0].double().cpu(), dim=-1).numpy()
        order = np.argsort(-probabilities, kind="stable").tolist()
        names = self._saved.names
        return {
            "kind": "labels",
            "label": names[order[0]],
            "labels": [
                {"label": names[number], "probability": float(probabilities[number])}
                for number in order[:MOST_LABELS]
            ],
            "num_tokens": int(tokens.lengths_N[0]),
            "is_cut": cutter.num_cut > 0,
        }


def open_answerer(spec: RunSpec, paths: RunPaths, checkpoint: Path, tell: Tell) -> LabelAnswerer:
    """Make a checkpoint ready to be asked.

    Raises:
        CheckpointError: it cannot be read.
        ModelError: it does not fit what the run has kept beside it.
        DeviceUnavailable: the run's device is not there.
    """
    params = TextClassificationParams.model_validate(spec.params)
    tell("loading the classifier", 0.0)
    saved = open_checkpoint(paths, checkpoint, params)
    tell("loading the classifier", 0.9)
    return LabelAnswerer(saved, device=devices.pick(params.device), max_length=params.max_length)
