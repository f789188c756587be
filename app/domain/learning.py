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
_SIGNIFICANT: Final = 4
_PERCENTILES: Final = (10, 50, 90)
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
        with np.errstate(invalid="ignore"):
            return self.last_loss_N - self.first_loss_N


def learning_of(steps: Sequence[int], rights: Sequence[Rights], losses: Sequence[Floats]) -> Learning:
    """Follow every probe.

    Args:
        steps: rising, at least one.
        rights: per step, bool, shape (N,).
        losses: per step, float64, shape (N,).
    """
    steps_S = np.asarray(steps, np.int64)
    right_SN = np.stack(list(rights)).astype(np.bool_)
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
        loss_SN=np.stack([np.asarray(loss_N, np.float32) for loss_N in losses]),
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
    found = []
    for row, step in enumerate(learning.steps_S.tolist()):
        before_N = right_SN[max(0, row - 1)]
        losses = learning.loss_SN[row].astype(np.float64)
        losses = losses[np.isfinite(losses)]
        spread: list[float | None] = [None] * len(_PERCENTILES)
        if losses.size:
            spread = rounded(np.percentile(losses, _PERCENTILES)).tolist()
        found.append(
            {
                "step": step,
                "right": int(right_SN[row].sum()),
                "learned": int((right_SN[row] & ~before_N).sum()),
                "forgotten": int((~right_SN[row] & before_N).sum()),
                **dict(zip(("loss_p10", "loss_p50", "loss_p90"), spread, strict=True)),
            }
        )
    return found


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


def _has_fallen(first_N: Floats, last_N: Floats) -> Rights:
    with np.errstate(invalid="ignore"):
        fall_N = first_N - last_N
        return np.asarray((fall_N > 0) & (fall_N >= NOTABLE_FALL * np.abs(first_N)))


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


def _confidence(losses: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Mean and deviation of the probability of the right answer, snapshot by snapshot (Welford's way)."""
    count_N, mean_N, square_N = (np.zeros(len(losses[0])) for _ in range(3))
    for loss_N in losses:
        known_N = np.isfinite(loss_N)
        share_N = np.exp(-np.maximum(np.where(known_N, loss_N, 0.0), 0.0))
        count_N += known_N
        off_N = np.where(known_N, share_N - mean_N, 0.0)
        mean_N += off_N / np.maximum(count_N, 1)
        square_N += off_N * np.where(known_N, share_N - mean_N, 0.0)
    known_N = count_N > 0
    deviation_N = np.sqrt(square_N / np.maximum(count_N, 1))
    return np.where(known_N, mean_N, np.nan), np.where(known_N, deviation_N, np.nan)
