"""What became of each probe over the snapshots of a run: the one place that names it.

Shape suffixes: S snapshots by step, N probes in their fixed order.  A loss
that is not finite counts as missing.

    flip_flopping   changed between right and wrong three times or more
    learned         right in the newest snapshot
    forgotten       wrong there, right before
    struggling      never right, but its loss has fallen by a tenth or more
    not_learned     never right, and no such fall

The first that fits is meant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rights = NDArray[np.bool_]

CATEGORIES: Final = ("learned", "struggling", "not_learned", "forgotten", "flip_flopping")
FLIPS_OF_A_FLIP_FLOPPER: Final = 3
NOTABLE_FALL: Final = 0.1  # of the first loss
_ROUNDING: Final = 1e-9  # from 2 to 1.8 is a tenth, whatever the last bit says
_SIGNIFICANT: Final = 4
_PERCENTILES: Final = (10, 50, 90)
_CELLS_AT_ONCE: Final = 2**20  # probabilities in memory together
_LEARNED, _STRUGGLING, _NOT_LEARNED, _FORGOTTEN, _FLIP_FLOPPING = range(len(CATEGORIES))


@dataclass(frozen=True)
class Learning:
    """The way of all probes through all snapshots.

    Attributes:
        steps_S: at which steps the snapshots were taken, rising.
        right_SN: whether each probe was answered right.
        loss_SN: loss, float32 (it is kept for drawing), NaN where missing.
        first_loss_N, last_loss_N: loss in the first and in the newest snapshot, exact.
        category_N: positions in ``CATEGORIES``.
        learned_at_N: step from which on it was always right, NaN when the newest answer is wrong.
        flips_N: how often it changed between right and wrong.
        num_forgotten_N: how often right turned wrong.
        last_forgotten_at_N: step at which that happened last, NaN when never.
        confidence_N: mean of exp(-loss) over the snapshots that have a loss, 0 to 1; NaN when none has.
        variability_N: standard deviation of the same.
        correctness_N: share of snapshots in which it was right.
    Source:
        Toneva et al., 2019 (forgetting), https://arxiv.org/abs/1812.05159; Swayamdipta et al., 2020
        (confidence and variability), https://arxiv.org/abs/2009.10795
    """

    steps_S: Integers
    right_SN: Rights
    loss_SN: NDArray[np.float32]
    first_loss_N: Floats
    last_loss_N: Floats
    category_N: NDArray[np.int8]
    learned_at_N: Floats
    flips_N: Integers
    num_forgotten_N: Integers
    last_forgotten_at_N: Floats
    confidence_N: Floats
    variability_N: Floats
    correctness_N: Floats

    @property
    def num_bytes(self) -> int:
        """Roughly what it occupies."""
        return self.right_SN.nbytes + self.loss_SN.nbytes + 9 * self.first_loss_N.nbytes

    @property
    def loss_change_N(self) -> Floats:
        """Loss in the newest snapshot minus that in the first."""
        with np.errstate(invalid="ignore", over="ignore"):
            return self.last_loss_N - self.first_loss_N


def learning_of(
    steps: Sequence[int], rights: Sequence[Rights] | Rights, losses: Sequence[Floats] | Floats
) -> Learning:
    """Follow every probe.

    Args:
        steps: rising, at least one.
        rights: per step, bool, shape (N,).
        losses: per step, float64, shape (N,).
    """
    steps_S = np.asarray(steps, np.int64)
    right_SN = np.asarray(rights, np.bool_)
    flipped_SN = right_SN[1:] != right_SN[:-1]
    lost_SN = flipped_SN & ~right_SN[1:]
    flips_N, num_forgotten_N = flipped_SN.sum(axis=0), lost_SN.sum(axis=0)
    confidence_N, variability_N = _confidence(losses)
    first_N, last_N = losses[0], losses[-1]
    ever_N, now_N = right_SN.any(axis=0), right_SN[-1]
    category_N = np.select(
        [flips_N >= FLIPS_OF_A_FLIP_FLOPPER, now_N, ever_N, _has_fallen(first_N, last_N)],
        [_FLIP_FLOPPING, _LEARNED, _FORGOTTEN, _STRUGGLING],
        _NOT_LEARNED,
    ).astype(np.int8)
    return Learning(
        steps_S=steps_S,
        right_SN=right_SN,
        loss_SN=_narrow(losses),
        first_loss_N=np.array(first_N),
        last_loss_N=np.array(last_N),
        category_N=category_N,
        learned_at_N=np.where(now_N, steps_S[_first_of_the_last_stretch(right_SN)], np.nan),
        flips_N=flips_N,
        num_forgotten_N=num_forgotten_N,
        last_forgotten_at_N=_step_of_last(lost_SN, steps_S[1:]),
        confidence_N=confidence_N,
        variability_N=variability_N,
        correctness_N=right_SN.mean(axis=0),
    )


def by_step(learning: Learning) -> list[dict[str, Any]]:
    """Per snapshot: how many were right, turned right (``learned``), turned wrong, and how losses spread."""
    right_SN = learning.right_SN
    before_SN = np.concatenate([right_SN[:1], right_SN[:-1]])
    columns: dict[str, list[Any]] = {
        "step": learning.steps_S.tolist(),
        "right": right_SN.sum(axis=1).tolist(),
        "learned": (right_SN & ~before_SN).sum(axis=1).tolist(),
        "forgotten": (~right_SN & before_SN).sum(axis=1).tolist(),
        **dict(zip(("loss_p10", "loss_p50", "loss_p90"), _spreads(learning.loss_SN), strict=True)),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def rankings(learning: Learning, *, most: int) -> dict[str, list[int]]:
    """The probes that stand out, as positions, at most ``most`` of each kind.

    What was right before any training (step 0) was not learned, and is neither fast nor late.
    """
    learned_at_N, confidence_N = learning.learned_at_N, learning.confidence_N
    learned = np.flatnonzero(learned_at_N > 0)
    hard = np.flatnonzero(np.isfinite(confidence_N))
    forgotten = np.flatnonzero(learning.num_forgotten_N)
    last_forgotten_N = np.nan_to_num(learning.last_forgotten_at_N)
    orders = {
        "last_learned": learned[np.lexsort((confidence_N[learned], -learned_at_N[learned]))],
        "fastest": learned[np.lexsort((-confidence_N[learned], learned_at_N[learned]))],
        "hardest": hard[np.lexsort((learning.correctness_N[hard], confidence_N[hard]))],
        "most_forgotten": forgotten[
            np.lexsort((-last_forgotten_N[forgotten], -learning.num_forgotten_N[forgotten]))
        ],
    }
    return {name: order[:most].tolist() for name, order in orders.items()}


def rounded(values: NDArray[Any]) -> Floats:
    """Values to four significant digits, each the nearest double, so that they are written short."""
    wide = np.asarray(values, np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        digits = _SIGNIFICANT - 1 - np.floor(np.log10(np.abs(wide)))
        digits = np.clip(np.nan_to_num(digits, nan=0.0, posinf=0.0, neginf=0.0), -300, 300)
        up, down = 10.0 ** np.maximum(digits, 0), 10.0 ** np.maximum(-digits, 0)
        short: Floats = np.rint(wide * up / down) * down / up
    return np.where(np.isfinite(short), short, wide)


def _spreads(loss_SN: NDArray[np.float32]) -> list[list[float | None]]:
    """Per percentile and snapshot the loss; None for a snapshot without one."""
    found = np.full((len(_PERCENTILES), len(loss_SN)), np.nan)
    known_SN = np.isfinite(loss_SN)
    whole_S = known_SN.all(axis=1)
    found[:, whole_S] = np.percentile(loss_SN[whole_S], _PERCENTILES, axis=1)
    for row in np.flatnonzero(known_SN.any(axis=1) & ~whole_S):
        found[:, row] = np.percentile(loss_SN[row, known_SN[row]], _PERCENTILES)
    short = rounded(found)
    return [[None if math.isnan(value) else value for value in row] for row in short.tolist()]


def _narrow(losses: Sequence[Floats] | Floats) -> NDArray[np.float32]:
    """For curves: a loss that no float32 holds is infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(losses, np.float32)


def _has_fallen(first_N: Floats, last_N: Floats) -> Rights:
    with np.errstate(invalid="ignore", over="ignore"):
        fall_N = first_N - last_N
        least_N = NOTABLE_FALL * np.abs(first_N) * (1 - _ROUNDING)
        return np.asarray((fall_N > 0) & (fall_N >= least_N))


def _first_of_the_last_stretch(right_SN: Rights) -> Integers:
    """Row from which on a probe was always right; the last row where its newest answer is wrong."""
    num_steps = len(right_SN)
    wrong_from_the_end_N = np.argmax(~right_SN[::-1], axis=0)  # 0 also when it was never wrong
    rows_N = np.where(right_SN.all(axis=0), 0, num_steps - wrong_from_the_end_N)
    return np.minimum(rows_N, num_steps - 1)


def _step_of_last(happened_SN: Rights, steps_S: Integers) -> Floats:
    if len(happened_SN) == 0:
        return np.full(happened_SN.shape[1], np.nan)
    rows_N = len(happened_SN) - 1 - np.argmax(happened_SN[::-1], axis=0)
    return np.where(happened_SN.any(axis=0), steps_S[rows_N], np.nan)


def _confidence(losses: Sequence[Floats] | Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of the probability of the right answer, some snapshots at a time (Chan's way)."""
    num_probes = len(losses[0])
    count_N, mean_N, square_N = (np.zeros(num_probes) for _ in range(3))
    at_once = max(1, _CELLS_AT_ONCE // max(1, num_probes))
    for start in range(0, len(losses), at_once):
        loss_SN = np.asarray(losses[start : start + at_once], np.float64)
        known_SN = np.isfinite(loss_SN)
        share_SN = np.exp(-np.maximum(np.where(known_SN, loss_SN, 0.0), 0.0))
        new_N = known_SN.sum(axis=0)
        new_mean_N = np.where(known_SN, share_SN, 0.0).sum(axis=0) / np.maximum(new_N, 1)
        new_square_N = np.square(np.where(known_SN, share_SN - new_mean_N, 0.0)).sum(axis=0)
        total_N = np.maximum(count_N + new_N, 1)
        off_N = new_mean_N - mean_N
        mean_N = mean_N + off_N * new_N / total_N
        square_N = square_N + new_square_N + off_N**2 * count_N * new_N / total_N
        count_N = count_N + new_N
    known_N = count_N > 0
    deviation_N = np.sqrt(square_N / np.maximum(count_N, 1))
    return np.where(known_N, mean_N, np.nan), np.where(known_N, deviation_N, np.nan)
