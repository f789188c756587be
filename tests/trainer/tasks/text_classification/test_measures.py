import math

import numpy as np
import pytest

from trainer.tasks.text_classification.measures import (
    chance_accuracy,
    chance_loss,
    label_weights,
    measure,
    report,
)

# Three labels; the third example is called 1 and is 0, the last is called 0 and is 2.
PROBABILITIES = np.array([[0.8, 0.1, 0.1], [0.1, 0.85, 0.05], [0.3, 0.6, 0.1], [0.5, 0.2, 0.3]])
LABELS = np.array([0, 1, 0, 2])


def test_measures_match_those_worked_by_hand() -> None:
    found = measure(PROBABILITIES, LABELS)
    assert found.confusion.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert found.accuracy == 0.5
    first, second, third = found.labels
    assert (first.precision, first.recall, first.f1) == (0.5, 0.5, 0.5)
    assert (second.precision, second.recall) == (0.5, 1.0)
    assert second.f1 == pytest.approx(2 / 3)
    assert (third.precision, third.recall, third.f1, third.support, third.predicted) == (0, 0, 0, 1, 0)
    assert found.macro_f1 == pytest.approx((0.5 + 2 / 3 + 0) / 3)
    assert found.loss == pytest.approx(-sum(map(math.log, (0.8, 0.85, 0.3, 0.3))) / 4)


def test_calibration_is_the_gap_weighed_by_the_bins() -> None:
    found = measure(PROBABILITIES, LABELS)
    # Bins of confidence 0.8 (right), 0.85 (right), 0.6 (wrong) and 0.5 (wrong), each alone.
    assert found.ece == pytest.approx((0.2 + 0.15 + 0.6 + 0.5) / 4)
    assert sum(one.count for one in found.bins) == 4
    assert [one.count for one in found.bins] == [0, 0, 0, 0, 1, 1, 0, 1, 1, 0]


def test_a_label_that_never_occurs_does_not_count_in_the_mean() -> None:
    found = measure(np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]), np.array([0, 1]))
    assert found.macro_f1 == 1.0


def test_weights_have_mean_one_and_balance_the_labels() -> None:
    counts = np.array([80, 15, 5])
    assert label_weights(counts, how="none").tolist() == [1, 1, 1]
    balanced = label_weights(counts, how="balanced")
    assert (balanced * counts).tolist() == pytest.approx([100 / 3] * 3)
    assert (label_weights(counts, how="sqrt") * counts).sum() == pytest.approx(100)


def test_chance_is_the_best_answer_that_does_not_look() -> None:
    counts, ones = np.array([75, 25]), np.ones(2)
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert chance_loss(counts, ones, smoothing=0.0) == pytest.approx(entropy)
    assert chance_loss(counts, label_weights(counts, how="balanced"), smoothing=0.0) == pytest.approx(
        math.log(2)
    )
    assert chance_loss(counts, ones, smoothing=1.0) == pytest.approx(math.log(2))
    assert chance_accuracy(np.array([1, 1, 0]), np.array([1, 0, 0, 0]), 2) == {
        "majority": 0.25,
        "uniform": 0.5,
    }


def test_a_report_leaves_out_the_zeros() -> None:
    told = report(measure(PROBABILITIES, LABELS), ["a", "b", "c"])
    assert told["confusion"] == [[0, 0, 1], [0, 1, 1], [1, 1, 1], [2, 0, 1]]
    assert [one["name"] for one in told["labels"]] == ["a", "b", "c"]


def test_without_examples_nothing_is_measured() -> None:
    with pytest.raises(ValueError, match="no example"):
        measure(np.empty((0, 2)), np.empty(0, dtype=np.int64))
