"""How good a classifier's probabilities are: counts, per label and as a whole, and how far to trust them.

Loads no training library.

Shape suffixes: N examples, K labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NUM_BINS: Final = 10
_LEAST: Final = 1e-30  # a probability float32 rounds to 0 costs 69 nats, not infinitely many


@dataclass(frozen=True)
class Bin:
    """The predictions of one range of confidence, ``lower`` < confidence <= ``upper``.

    ``confidence`` and ``accuracy`` are means over its ``count`` examples; 0 where there are none.
    """

    lower: float
    upper: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class LabelMeasures:
    """How well one label is told from the others; what cannot be divided is 0."""

    support: int
    predicted: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Measures:
    """Everything measured on one set of examples.

    Attributes:
        accuracy: share of examples whose most probable label is the right one.
        macro_f1: mean F1 of the labels that occur, as truth or as prediction.
        ece: expected calibration error: how far confidence and accuracy lie apart, weighed by the bins.
        loss: mean cross-entropy in nats, unweighted.
        confusion: how often label i (row) was called label j (column), shape (K, K).
        labels: one per label; ``bins`` from low to high confidence.
    """

    accuracy: float
    macro_f1: float
    ece: float
    loss: float
    confusion: Ints
    labels: tuple[LabelMeasures, ...]
    bins: tuple[Bin, ...]


def measure(probabilities_NK: Floats, labels_N: Ints) -> Measures:
    """Compare probabilities with the truth.

    Raises:
        ValueError: there is no example.
    """
    num_examples, num_labels = probabilities_NK.shape
    if num_examples == 0:
        raise ValueError("there is no example to measure on")
    predicted_N = probabilities_NK.argmax(axis=1)
    confusion = np.bincount(labels_N * num_labels + predicted_N, minlength=num_labels**2)
    confusion = confusion.reshape(num_labels, num_labels).astype(np.int64)
    labels = per_label(confusion)
    occurring = [one.f1 for one in labels if one.support + one.predicted > 0]
    bins = reliability(probabilities_NK.max(axis=1), predicted_N == labels_N)
    return Measures(
        accuracy=float(np.trace(confusion) / num_examples),
        macro_f1=float(np.mean(occurring)),
        ece=sum(one.count * abs(one.accuracy - one.confidence) for one in bins) / num_examples,
        loss=float(losses(probabilities_NK, labels_N).mean()),
        confusion=confusion,
        labels=labels,
        bins=bins,
    )


def losses(probabilities_NK: Floats, labels_N: Ints) -> Floats:
    """Cross-entropy of each example in nats, shape (N,)."""
    found: Floats = -np.log(np.maximum(probabilities_NK[np.arange(len(labels_N)), labels_N], _LEAST))
    return found


def per_label(confusion: Ints) -> tuple[LabelMeasures, ...]:
    """Precision, recall and F1 of each label from how often which was called which, shape (K, K)."""
    found = []
    for label in range(len(confusion)):
        hits = int(confusion[label, label])
        support, predicted = int(confusion[label].sum()), int(confusion[:, label].sum())
        found.append(
            LabelMeasures(
                support=support,
                predicted=predicted,
                precision=hits / predicted if predicted else 0.0,
                recall=hits / support if support else 0.0,
                f1=2 * hits / (support + predicted) if support + predicted else 0.0,
            )
        )
    return tuple(found)


def reliability(confidence_N: Floats, is_right_N: NDArray[np.bool_]) -> tuple[Bin, ...]:
    """Confidence against accuracy in bins of equal width."""
    edges = np.linspace(0.0, 1.0, NUM_BINS + 1)
    confidence_N = np.nan_to_num(confidence_N)  # a broken model is sure of nothing; its loss says the rest
    bin_N = np.clip(np.ceil(confidence_N * NUM_BINS).astype(np.int64) - 1, 0, NUM_BINS - 1)
    counts = np.bincount(bin_N, minlength=NUM_BINS)
    confidence = np.bincount(bin_N, weights=confidence_N, minlength=NUM_BINS)
    right = np.bincount(bin_N, weights=is_right_N.astype(np.float64), minlength=NUM_BINS)
    share = np.maximum(counts, 1)
    return tuple(
        Bin(
            float(edges[number]),
            float(edges[number + 1]),
            int(counts[number]),
            float(confidence[number] / share[number]),
            float(right[number] / share[number]),
        )
        for number in range(NUM_BINS)
    )


def label_weights(counts: Ints, *, how: str) -> Floats:
    """What an example of each label counts in the loss; the mean over the examples counted is 1.

    Args:
        counts: examples of each label that are trained on, each at least 1.
        how: ``none``, ``balanced`` (every label weighs the same) or ``sqrt`` (half-way).
    """
    power = {"none": 0.0, "sqrt": 0.5, "balanced": 1.0}[how]
    raw = np.maximum(counts, 1).astype(np.float64) ** -power
    weights: Floats = raw * counts.sum() / (raw * counts).sum()
    return weights


def chance_loss(counts: Ints, weights: Floats, *, smoothing: float) -> float:
    """The loss of the best answer that does not look at the text, in nats.

    That is the entropy of the labels as the loss weighs and smoothes them.
    """
    share = counts * weights / (counts * weights).sum()
    share = (1.0 - smoothing) * share + smoothing / len(share)
    return float(-(share[share > 0] * np.log(share[share > 0])).sum())


def chance_accuracy(train_labels_N: Ints, held_out_labels_N: Ints, num_labels: int) -> dict[str, float]:
    """How often guessing is right: always the most frequent label of the training side, or any label."""
    majority = int(np.bincount(train_labels_N, minlength=num_labels).argmax())
    return {
        "majority": float((held_out_labels_N == majority).mean()) if len(held_out_labels_N) else 0.0,
        "uniform": 1.0 / num_labels,
    }


def report(found: Measures, names: list[str]) -> dict[str, Any]:
    """The details of an evaluation as they are kept: what no single number can say.

    ``confusion`` holds ``[truth, prediction, count]`` of the cells that are not 0.
    """
    truth, prediction = np.nonzero(found.confusion)
    return {
        "labels": [
            {
                "name": name,
                "support": one.support,
                "predicted": one.predicted,
                "precision": one.precision,
                "recall": one.recall,
                "f1": one.f1,
            }
            for name, one in zip(names, found.labels, strict=True)
        ],
        "confusion": [
            [int(row), int(column), int(found.confusion[row, column])]
            for row, column in zip(truth, prediction, strict=True)
        ],
        "bins": [vars(one) for one in found.bins],
        "accuracy": found.accuracy,
        "macro_f1": found.macro_f1,
        "ece": found.ece,
        "loss": found.loss,
    }
