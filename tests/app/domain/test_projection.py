"""What turns as a whole stands still on the map, and what moves there has changed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.domain.projection import Projection, directions, project, rotation_onto


def clusters(num_points: int, dim: int, *, seed: int = 1) -> NDArray[np.float64]:
    """Points (N, D) in five heaps of different sizes, so that axes are well apart."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((5, dim)) * np.array([4.0, 3.0, 2.0, 1.5, 1.0])[:, None]
    return np.asarray(centres[np.arange(num_points) % 5] + 0.3 * rng.standard_normal((num_points, dim)))


def random_rotation(dim: int, *, seed: int = 2) -> NDArray[np.float64]:
    """An orthogonal matrix (D, D)."""
    return np.asarray(np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0])


def projected(*frames: NDArray[np.float64]) -> Projection:
    return project(iter(frames), num_frames=len(frames))


@pytest.mark.parametrize(("num_points", "dim"), [(100, 32), (40, 128), (900, 700)])
def test_a_rotated_copy_lies_exactly_where_the_first_lay(num_points: int, dim: int) -> None:
    vectors_ND = clusters(num_points, dim)
    found = projected(vectors_ND, vectors_ND @ random_rotation(dim), -vectors_ND)
    extent = float(np.ptp(found.frames_N2[0]))
    for frame in found.frames_N2[1:]:
        np.testing.assert_allclose(frame, found.frames_N2[0], atol=0.01 * extent)
    assert found.disparities[0] is None
    assert found.disparities[1] == pytest.approx(0.0, abs=0.005)  # 48 axes of 700 are all that is compared


def test_of_all_points_only_the_one_that_moved_moves() -> None:
    before = clusters(100, 32)
    after = before.copy()
    after[7] = before[8]
    found = projected(before, after @ random_rotation(32))
    way_N = np.linalg.norm(found.frames_N2[1] - found.frames_N2[0], axis=1)
    assert way_N[7] > 0.5
    assert np.delete(way_N, 7).max() < 0.05 * way_N[7]
    assert found.disparities[1] is not None
    assert 0.0 < found.disparities[1] < 0.05


def test_frames_that_have_nothing_in_common_are_far_apart() -> None:
    rng = np.random.default_rng(3)
    found = projected(clusters(200, 16), rng.standard_normal((200, 16)))
    assert found.disparities[1] is not None
    assert found.disparities[1] > 0.3


def test_the_axes_hold_what_they_say_they_hold() -> None:
    vectors_ND = clusters(300, 24)
    found = projected(vectors_ND)
    centred = directions(vectors_ND).astype(float)
    centred -= centred.mean(axis=0)
    variances = np.linalg.svd(centred, compute_uv=False) ** 2
    assert found.explained == pytest.approx(tuple(variances[:2] / variances.sum()), rel=1e-3)
    np.testing.assert_allclose(np.square(found.frames_N2[0]).sum(axis=0), variances[:2], rtol=1e-3)


def test_distances_on_the_plane_are_those_of_the_vectors_where_two_axes_are_all_there_is() -> None:
    angles = np.linspace(0.0, 5.0, 20)
    vectors_ND = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ random_rotation(8)[:2]
    found = projected(vectors_ND)
    assert sum(found.explained) == pytest.approx(1.0, abs=1e-4)
    for one, other in ((0, 5), (3, 19)):
        expected = np.linalg.norm(vectors_ND[one] - vectors_ND[other])
        measured = np.linalg.norm(found.frames_N2[0][one] - found.frames_N2[0][other])
        assert measured == pytest.approx(expected, abs=1e-3)


def test_the_same_vectors_always_give_the_same_map() -> None:
    frames = [clusters(50, 16, seed=seed) for seed in (1, 2, 3)]
    first, second = projected(*frames), projected(*frames)
    for one, other in zip(first.frames_N2, second.frames_N2, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_start_that_is_random_finds_the_axes_that_are_exact() -> None:
    vectors_ND = clusters(1200, 600)
    centred = directions(vectors_ND).astype(float)
    centred -= centred.mean(axis=0)
    variances = np.linalg.svd(centred, compute_uv=False) ** 2
    assert projected(vectors_ND).explained == pytest.approx(tuple(variances[:2] / variances.sum()), rel=1e-3)


@pytest.mark.parametrize(
    "vectors_ND", [np.ones((1, 4)), np.zeros((5, 3)), np.ones((6, 1)), np.eye(2), np.ones((4, 7))]
)
def test_what_cannot_be_told_apart_lies_in_one_place_and_breaks_nothing(
    vectors_ND: NDArray[np.float64],
) -> None:
    found = projected(vectors_ND, vectors_ND)
    for frame in found.frames_N2:
        assert frame.shape == (len(vectors_ND), 2)
        assert np.isfinite(frame).all()
    assert found.disparities == [None, 0.0]


def test_a_collapse_of_all_points_into_one_is_a_frame_like_others() -> None:
    found = projected(clusters(30, 8), np.ones((30, 8)), clusters(30, 8))
    assert np.isfinite(found.frames_N2[1]).all()
    np.testing.assert_allclose(found.frames_N2[1], 0.0, atol=1e-5)


def test_a_rotation_neither_stretches_nor_moves() -> None:
    points = directions(clusters(20, 6))
    turn = rotation_onto(points, directions(clusters(20, 6, seed=5)))
    np.testing.assert_allclose(turn @ turn.T, np.eye(6), atol=1e-5)
