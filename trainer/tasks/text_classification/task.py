"""Text classification as the engine sees it: batches, loss, evaluation, probes.

Shape suffixes: B texts of a batch, K labels, N texts.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer
from transformers import PreTrainedTokenizerFast

from trainer.datasets.records import DatasetError, Tell
from trainer.engine.task import LossOutput, ProbeAnswers
from trainer.language.export import export_model
from trainer.protocol.probe_files import AddedProbe, ProbeRowError
from trainer.protocol.run_folder import RunSpec
from trainer.recipes.pinned_probes import pinned_ids
from trainer.recipes.text_classification import TextClassificationParams
from trainer.tasks.text_classification.added_probes import refused_texts, with_texts
from trainer.tasks.text_classification.batches import Batch, Cutter, batches_of_epoch, in_order_of_length
from trainer.tasks.text_classification.material import Ints, Material
from trainer.tasks.text_classification.measures import (
    Floats,
    Measures,
    chance_accuracy,
    chance_loss,
    label_weights,
    measure,
    report,
)
from trainer.tasks.text_classification.model import Classifier, build_optimizer, plain_model
from trainer.tasks.text_classification.probes import answer_probes, choose_probes, describe_probes

_ASKED_AT_ONCE: Final = 128
Vectors = NDArray[np.float32]


class TextClassificationTask:
    """Implements :class:`trainer.engine.task.Task`."""

    name = "classification"

    def __init__(
        self,
        material: Material,
        classifier: Classifier,
        tokenizer: PreTrainedTokenizerFast,
        cutter: Cutter,
        params: TextClassificationParams,
    ) -> None:
        self._material, self._classifier, self._cutter, self._params = material, classifier, cutter, params
        self._tokenizer = tokenizer
        train_labels = material.labels_N[material.split.train]
        counts = np.bincount(train_labels, minlength=len(material.names))
        weights = label_weights(counts, how=params.class_weights)
        self._weights_K = torch.tensor(weights, dtype=torch.float32, device=classifier.device)
        self._chance_loss = chance_loss(counts, weights, smoothing=params.label_smoothing)
        self._chance = chance_accuracy(
            train_labels, material.labels_N[material.split.held_out], len(material.names)
        )
        self._batch_size = min(params.batch_size, len(material.split.train))
        self._optimizer = build_optimizer(classifier.model, params)
        self._probe_rows = choose_probes(
            material, count=params.num_probes, seed=params.seed, pinned=pinned_ids(params.pinned_probes)
        )
        self._measured: Measures | None = None

    @property
    def chance(self) -> dict[str, float]:
        """How often guessing is right on the held-out side, by way of guessing."""
        return self._chance

    def modules(self) -> dict[str, nn.Module]:
        """The classifier."""
        return {"classifier": self._classifier.model}

    def optimizers(self) -> list[Optimizer]:
        """One AdamW."""
        return [self._optimizer]

    def num_micro_batches(self, epoch: int) -> int:
        """Batches of an epoch, the last of which may be short."""
        return math.ceil(len(self._material.split.train) / self._batch_size)

    def micro_batches(self, epoch: int, *, start: int, every: int = 1) -> Iterator[Batch]:
        """The batches of ``epoch`` from number ``start`` on."""
        rows = self._material.split.train
        cut = batches_of_epoch(
            self._cutter.lengths_N[rows], batch_size=self._batch_size, seed=self._params.seed, epoch=epoch
        )
        for places in cut[start::every]:
            yield self._batch(rows[places])

    def loss(self, micro_batch: Batch) -> LossOutput:
        """Cross-entropy with the weights of the labels, the mean over the batch."""
        loss = self._loss_of(micro_batch.to(self._classifier.device))
        return self._output(micro_batch, loss)

    def backward(self, micro_batch: Batch, *, weighed: bool) -> LossOutput:
        """Loss and gradients of one batch, at most ``micro_batch_size`` texts at a time in the model."""
        size = self._params.micro_batch_size or len(micro_batch)
        factor = self._classifier.loss_scale * (len(micro_batch) if weighed else 1)
        total = torch.zeros((), device=self._classifier.device)
        for start in range(0, len(micro_batch), size):
            part = micro_batch.part(start, min(start + size, len(micro_batch)))
            loss = self._loss_of(part.to(self._classifier.device)) * (len(part) / len(micro_batch))
            (loss * factor).backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        return self._output(micro_batch, total)

    def begin_epoch(self, epoch: int, tell: Tell) -> None:
        """Nothing to prepare."""

    def evaluate(self, tell: Tell) -> dict[str, float]:
        """Accuracy, macro-F1, calibration error and cross-entropy of the held-out texts."""
        rows = self._material.split.held_out
        probabilities = self._probabilities(rows, tell)
        self._measured = measure(probabilities, self._material.labels_N[rows])
        return {
            "loss": self._measured.loss,
            "accuracy": self._measured.accuracy,
            "macro_f1": self._measured.macro_f1,
            "ece": self._measured.ece,
            "chance_accuracy": self._chance["majority"],
        }

    def evaluation_details(self) -> dict[str, Any]:
        """Confusion matrix, measures per label and calibration of the newest evaluation."""
        if self._measured is None:
            raise ValueError("asked for the details of an evaluation before the first one")
        return {**report(self._measured, list(self._material.names)), "chance": self._chance}

    def export(self, folder: Path, *, run: RunSpec, step: int, metrics: dict[str, float], tell: Tell) -> None:
        """Write the model as it is now as a Hugging Face folder, LoRA merged into the weights.

        Raises:
            OSError: there is no room for it.
        """
        tell("writing the model as a Hugging Face folder", 0.0)
        export_model(
            folder,
            plain_model(self._classifier.model),
            self._tokenizer,
            run_id=run.run_id,
            recipe=run.recipe,
            dataset=run.dataset,
            step=step,
            metrics=metrics,
            extra={
                "base_model": self._params.model,
                "max_length": self._params.max_length,
                "labels": list(self._material.names),
            },
        )

    def probes(self) -> list[dict[str, Any]]:
        """The fixed held-out examples."""
        return describe_probes(self._material, self._probe_rows)

    def probe(self) -> ProbeAnswers:
        """Ask the probes."""
        rows = self._probe_rows
        probabilities = np.empty((len(rows), len(self._material.names)))
        vectors: Vectors | None = None
        for places, batch in self._asked(rows):
            logits, pooled = self._classifier.logits_and_pooled(batch)
            probabilities[places] = _as_probabilities(logits)
            if pooled is not None:
                vectors = np.empty((len(rows), pooled.shape[1]), np.float32) if vectors is None else vectors
                vectors[places] = pooled.cpu().numpy()
        return answer_probes(self._material, rows, probabilities, vectors)

    def refused_probes(self, probes: Sequence[AddedProbe]) -> list[ProbeRowError]:
        """The rows whose label there is not."""
        return refused_texts(self._material, probes)

    def with_probes(self, probes: Sequence[AddedProbe]) -> TextClassificationTask:
        """The same classifier with other texts; what each expects is one of its labels.

        Raises:
            ProbeRowError: there is no such label.
        """
        other = copy.copy(self)
        other._material = with_texts(self._material, probes, self._tokenizer)
        other._cutter = Cutter(
            other._material.tokens,
            max_length=self._params.max_length,
            closing_ids=frozenset(self._tokenizer.all_special_ids),
            padding_id=int(self._tokenizer.pad_token_id),
        )
        other._probe_rows = np.arange(len(probes), dtype=np.int64)
        return other

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run must find again: the dataset, and what its labels are called."""
        return {"content_hash": self._material.texts.content_hash, "labels": list(self._material.names)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Check that the dataset is the one the state was made with.

        Raises:
            DatasetError: it is another.
        """
        if state["content_hash"] != self._material.texts.content_hash:
            raise DatasetError(
                f"{self._material.texts.name} has changed since the checkpoint was written, so the run "
                "cannot go on as if nothing had happened; put the old file back, or start a new run"
            )

    def _batch(self, rows: Ints) -> Batch:
        return self._cutter.batch(rows, self._material.labels_N[rows])

    def _loss_of(self, batch: Batch) -> Tensor:
        log_BK = F.log_softmax(self._classifier.logits(batch), dim=-1)
        smoothing = self._params.label_smoothing
        right_B = log_BK.gather(1, batch.labels[:, None]).squeeze(1)
        aimed_B = (1.0 - smoothing) * right_B + smoothing * log_BK.mean(dim=1)
        return -(self._weights_K[batch.labels] * aimed_B).mean()

    def _output(self, batch: Batch, loss: Tensor) -> LossOutput:
        return LossOutput(
            loss=loss,
            chance_loss=self._chance_loss,
            num_examples=len(batch),
            num_tokens=batch.num_tokens,
        )

    def _probabilities(self, rows: Ints, tell: Tell) -> Floats:
        """Probabilities (N, K) of ``rows`` in their order."""
        found = np.empty((len(rows), len(self._material.names)))
        done = 0
        for places, batch in self._asked(rows):
            tell("reading held-out texts", done / len(rows))
            found[places] = _as_probabilities(self._classifier.logits(batch))
            done += len(places)
        return found

    def _asked(self, rows: Ints) -> Iterator[tuple[Ints, Batch]]:
        """``rows`` as batches of like length on the device, each with its places among them."""
        size = min(_ASKED_AT_ONCE, self._params.micro_batch_size or _ASKED_AT_ONCE)
        for places in in_order_of_length(rows, self._cutter.lengths_N, batch_size=size):
            yield places, self._batch(rows[places]).to(self._classifier.device)


def _as_probabilities(logits_BK: Tensor) -> Floats:
    probabilities: Floats = torch.softmax(logits_BK.double().cpu(), dim=-1).numpy()
    return probabilities
