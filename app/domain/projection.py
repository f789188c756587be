"""Vectors of many steps on one plane, so that what moves there has changed.

Each frame is taken as directions (unit norm, about their mean) and turned, as
a whole, onto the frame before it: training may rotate a model's space, which
changes nothing that it says. What two frames then differ in are distances
between examples. One pair of axes, those of the largest variance over all
frames, carries every frame to the plane.

Plain numpy, and deterministic. Shape suffixes: N points, D numbers of a
vector, K numbers that are kept of it, M rows that axes are fitted on.

Sources: Schönemann 1966, the orthogonal Procrustes problem; Halko,
Martinsson, Tropp 2011, finding structure with randomness.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Matrix = NDArray[np.float64]

KEPT: Final = 48  # numbers of a vector that the alignment sees
_FEWEST_KEPT: Final = 8
_KEPT_BYTES: Final = 256 * 1024 * 1024
_FITTED_ROWS: Final = 20_000
_EXACT_SIDE: Final = 512  # up to here all axes are calculated, beyond it only the first ones
_EXTRA, _ROUNDS = 16, 3  # of the random start that then finds the first axes
_NOTHING: Final = 1e-7  # share of the largest extent below which an axis is rounding


@dataclass(frozen=True)
class Projection:
    """Frames on one plane.

    Attributes:
        frames_N2: the places of the points, a frame per step.
        disparities: what of a frame differs from the one before when it lies upon it as well as it can:
            squared differences as a share of all squares, 0 to 1; None for the first.
        explained: the share of the variance of all frames that each axis holds.
    """

    frames_N2: list[Floats]
    disparities: list[float | None]
    explained: tuple[float, float]


def project(frames: Iterable[NDArray[Any]], *, num_frames: int) -> Projection:
    """Put frames, of the same points in the same order, on one plane.

    Args:
        frames: (N, D) of each step in order, any float type, finite; read one after the other.
        num_frames: how many there are, to stay within 256 MiB.
    """
    aligned: list[Floats] = []
    disparities: list[float | None] = []
    total, scatter_KK = 0.0, np.zeros((0, 0))
    for vectors_ND in frames:
        centred_ND = directions(vectors_ND)
        centred_ND -= centred_ND.mean(axis=0)
        total += float(np.square(centred_ND, dtype=np.float64).sum())
        if not aligned:
            num_kept = _num_kept(centred_ND, num_frames)
            scatter_KK = np.zeros((num_kept, num_kept))
        points_NK = _shortened(centred_ND, scatter_KK.shape[0])
        if aligned:
            points_NK = points_NK @ rotation_onto(points_NK, aligned[-1])
            disparities.append(_disparity(points_NK, aligned[-1]))
        else:
            disparities.append(None)
        scatter_KK += points_NK.T.astype(np.float64) @ points_NK
        aligned.append(points_NK)
    if not aligned:
        return Projection([], [], (0.0, 0.0))
    variances, axes_KK = np.linalg.eigh(scatter_KK)
    axes_K2 = np.ascontiguousarray(axes_KK[:, [-1, -2]]).astype(np.float32)
    frames_N2 = _signed([points_NK @ axes_K2 for points_NK in aligned])
    first, second = (max(0.0, float(value)) / total if total > 0 else 0.0 for value in variances[[-1, -2]])
    return Projection(frames_N2, disparities, (first, second))


def directions(vectors_ND: NDArray[Any]) -> Floats:
    """Unit-norm float32 rows; a row of zeros stays one."""
    rows_ND: Floats = vectors_ND.astype(np.float32)
    norms_N = np.linalg.norm(rows_ND, axis=1, keepdims=True)
    norms_N[norms_N == 0] = 1.0
    rows_ND /= norms_N
    return rows_ND


def rotation_onto(points_NK: Floats, fixed_NK: Floats) -> Floats:
    """The rotation or reflection (K, K) that brings ``points_NK`` nearest to ``fixed_NK``; no scaling."""
    left_KK, _, right_KK = np.linalg.svd(points_NK.T.astype(np.float64) @ fixed_NK)
    return np.asarray(left_KK @ right_KK, dtype=np.float32)


def _num_kept(centred_ND: Floats, num_frames: int) -> int:
    room = _KEPT_BYTES // (4 * max(1, num_frames) * max(1, len(centred_ND)))
    return max(2, min(KEPT, max(_FEWEST_KEPT, room), *map(int, centred_ND.shape)))


def _shortened(centred_ND: Floats, num_kept: int) -> Floats:
    """The rows along their own principal axes, filled up with zeros where there are fewer axes."""
    fitted_MD = centred_ND[:: max(1, -(-len(centred_ND) // _FITTED_ROWS))]
    exact = min(fitted_MD.shape) <= _EXACT_SIDE
    axes_DK = _all_axes(fitted_MD, num_kept) if exact else _first_axes(fitted_MD, num_kept)
    points_NK = np.zeros((len(centred_ND), num_kept), np.float32)
    points_NK[:, : axes_DK.shape[1]] = centred_ND @ axes_DK
    return points_NK


def _all_axes(rows_MD: Floats, num_kept: int) -> Floats:
    """The principal axes from the smaller of the two products of ``rows_MD`` with itself."""
    rows = rows_MD.astype(np.float64)
    is_tall = rows.shape[0] >= rows.shape[1]
    squares, vectors = np.linalg.eigh(rows.T @ rows if is_tall else rows @ rows.T)
    order = np.argsort(-squares, kind="stable")[:num_kept]
    order = order[squares[order] > (_NOTHING**2) * max(float(squares[-1]), np.finfo(np.float64).tiny)]
    axes: Matrix = vectors[:, order] if is_tall else rows.T @ vectors[:, order] / np.sqrt(squares[order])
    return axes.astype(np.float32)


def _first_axes(rows_MD: Floats, num_kept: int) -> Floats:
    """The first principal axes, found from a fixed random start."""
    start = np.random.default_rng(0).standard_normal((rows_MD.shape[1], num_kept + _EXTRA))
    basis_DK = start.astype(np.float32)
    for _ in range(_ROUNDS):
        basis_DK, _ = np.linalg.qr(rows_MD.T @ (rows_MD @ basis_DK))
    return basis_DK @ _all_axes(rows_MD @ basis_DK, num_kept)


def _disparity(points_NK: Floats, before_NK: Floats) -> float:
    both = float(np.square(points_NK, dtype=np.float64).sum() + np.square(before_NK, dtype=np.float64).sum())
    apart = float(np.square(points_NK - before_NK, dtype=np.float64).sum())
    return min(1.0, apart / both) if both > 0 else 0.0


def _signed(frames_N2: list[Floats]) -> list[Floats]:
    """Mirrored so that on each axis the longer tail is on the positive side."""
    skew_2 = sum((np.power(frame, 3, dtype=np.float64).sum(axis=0) for frame in frames_N2), np.zeros(2))
    signs_2 = np.where(skew_2 < 0, -1.0, 1.0).astype(np.float32)
    return [frame * signs_2 for frame in frames_N2]
