"""What became of probes, worked out by hand and against a slow, plain reading of the definitions."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from app.domain.learning import CATEGORIES, by_step, learning_of, rankings, rounded

NAN, INF = math.nan, math.inf


def category_of(right: str, losses: list[float]) -> str:
    """The category of one probe."""
    rights = [np.array([one == "1"]) for one in right]
    found = learning_of(range(len(right)), rights, [np.array([loss]) for loss in losses])
    return CATEGORIES[found.category_N[0]]


@pytest.mark.parametrize(
    ("right", "losses", "category"),
    [
        ("0011", [2, 2, 2, 2], "learned"),
        ("1", [2], "learned"),
        ("0101", [2, 2, 2, 2], "flip_flopping"),
        ("1010", [2, 2, 2, 2], "flip_flopping"),
        ("0110", [2, 2, 2, 1], "forgotten"),
        ("1000", [1, 2, 2, 2], "forgotten"),
        ("000", [2, 3, 1.8], "struggling"),
        ("000", [2, 1, 1.81], "not_learned"),
        ("000", [2, 1, 2], "not_learned"),
        ("000", [INF, 9, 9], "struggling"),
        ("000", [NAN, 9, 1], "not_learned"),
        ("000", [9, 9, NAN], "not_learned"),
        ("000", [0, 0, 0], "not_learned"),
        ("000", [-1, -1, -2], "struggling"),
        ("0", [2], "not_learned"),
    ],
)
def test_a_probe_has_one_category(right: str, losses: list[float], category: str) -> None:
    assert category_of(right, losses) == category


def test_numbers_are_those_of_a_plain_reading() -> None:
    rng = np.random.default_rng(3)
    steps = [0, 10, 25, 50, 100, 150, 200]
    rights, losses = rng.random((7, 200)) < 0.5, rng.normal(2, 2, (7, 200))
    losses[rng.random((7, 200)) < 0.1] = NAN
    losses[:, 0] = NAN
    found = learning_of(steps, list(rights), list(losses))
    for probe in range(200):
        right = rights[:, probe].tolist()
        pairs = list(pairwise(right))
        lost = [steps[row + 1] for row, (one, other) in enumerate(pairs) if one and not other]
        settled = [step for row, step in enumerate(steps) if all(right[row:])]
        shares = [math.exp(-max(0.0, loss)) for loss in losses[:, probe] if math.isfinite(loss)]
        assert found.flips_N[probe] == sum(one != other for one, other in pairs)
        assert found.num_forgotten_N[probe] == len(lost)
        assert found.last_forgotten_at_N[probe] == pytest.approx(lost[-1] if lost else NAN, nan_ok=True)
        assert found.learned_at_N[probe] == pytest.approx(settled[0] if settled else NAN, nan_ok=True)
        mean = sum(shares) / len(shares) if shares else NAN
        deviation = math.sqrt(sum((one - mean) ** 2 for one in shares) / len(shares)) if shares else NAN
        assert found.confidence_N[probe] == pytest.approx(mean, nan_ok=True)
        assert found.variability_N[probe] == pytest.approx(deviation, nan_ok=True)


def test_confidence_is_the_same_however_many_snapshots_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    losses = list(rng.exponential(2, (9, 5)))
    rights = [loss < 1 for loss in losses]
    whole = learning_of(range(9), rights, losses)
    monkeypatch.setattr("app.domain.learning._CELLS_AT_ONCE", 10)  # two snapshots of five probes
    pieces = learning_of(range(9), rights, losses)
    assert pieces.confidence_N == pytest.approx(whole.confidence_N)
    assert pieces.variability_N == pytest.approx(whole.variability_N)


def test_a_steady_probe_has_no_variability_at_all() -> None:
    found = learning_of([0, 1, 2], [np.array([True])] * 3, [np.array([0.3])] * 3)
    assert found.variability_N[0] == 0
    assert found.confidence_N[0] == pytest.approx(math.exp(-0.3))


def test_each_snapshot_tells_what_it_changed() -> None:
    rights = [np.array(row, bool) for row in ([0, 0, 1], [1, 0, 1], [1, 1, 0])]
    losses = [np.array(row) for row in ([1.0, 2.0, 3.0], [1.0, NAN, 3.0], [NAN, INF, NAN])]
    first, second, third = by_step(learning_of([0, 10, 20], rights, losses))
    assert (first["right"], first["learned"], first["forgotten"], first["loss_p50"]) == (1, 0, 0, 2.0)
    assert (second["right"], second["learned"], second["forgotten"], second["loss_p50"]) == (2, 1, 0, 2.0)
    assert (third["right"], third["learned"], third["forgotten"], third["loss_p50"]) == (2, 1, 1, None)


def test_who_stands_out_comes_first_and_what_was_right_before_training_was_not_learned() -> None:
    right = np.array([[1, 0, 0, 0, 1], [1, 1, 0, 0, 0], [1, 1, 1, 0, 1], [1, 1, 1, 0, 0]], bool)
    losses = [np.array([0.1, 1.0, 2.0, 3.0, 0.5])] * 4
    told = rankings(learning_of([0, 10, 20, 30], list(right), losses), most=2)
    assert told == {"last_learned": [2, 1], "fastest": [1, 2], "hardest": [3, 2], "most_forgotten": [4]}


@pytest.mark.parametrize(
    ("value", "short"),
    [(0.123456, 0.1235), (123456.0, 123500.0), (-0.00098765, -0.0009876), (0.0, 0.0), (1e300, 1e300),
     (12.345678, 12.35), (2.0, 2.0), (1e-320, 1e-320)],
)  # fmt: skip
def test_numbers_are_cut_to_four_digits_and_stay_the_nearest_double(value: float, short: float) -> None:
    assert rounded(np.array([value]))[0] == pytest.approx(short, rel=1e-12, abs=1e-300)


def test_what_is_no_number_stays_none() -> None:
    assert np.isnan(rounded(np.array([NAN]))[0])
    assert rounded(np.array([INF]))[0] == INF
