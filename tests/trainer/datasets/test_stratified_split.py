import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.datasets.records import DatasetError
from trainer.datasets.splitting import Ints, Split, numbered, split_stratified


def split(groups: list[str], labels: Ints, texts: Ints, *, seed: int = 0, fraction: float = 0.2) -> Split:
    return split_stratified(groups, labels_N=labels, texts_N=texts, held_out_fraction=fraction, seed=seed)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 40), st.integers(0, 3)), min_size=2, max_size=80
    ),
    seed=st.integers(0, 5),
)
def test_no_group_and_no_text_is_on_both_sides(rows: list[tuple[int, int, int]], seed: int) -> None:
    groups = [f"g{group}" for group, _, _ in rows]
    texts, labels = np.array([row[1] for row in rows]), numbered(row[2] for row in rows)
    try:
        found = split(groups, labels, texts, seed=seed)
    except DatasetError:
        return  # all rows hang together
    assert len(found.train) >= 1
    assert len(found.held_out) >= 1
    assert sorted([*found.train, *found.held_out]) == list(range(len(rows)))
    for column in (numbered(groups), texts):
        assert not set(column[found.train]) & set(column[found.held_out])


def test_every_label_is_held_out_in_proportion_however_rare() -> None:
    labels = np.repeat([0, 1, 2], [900, 90, 10])
    groups = [f"g{row}" for row in range(1000)]
    for seed in range(5):
        found = split(groups, labels, np.arange(1000), seed=seed)
        assert np.bincount(labels[found.held_out]).tolist() == [180, 18, 2]


def test_a_label_with_two_groups_is_on_both_sides_and_one_with_a_single_group_is_trained_on() -> None:
    groups = [*(f"g{row}" for row in range(50)), "a", "b", "only", "only"]
    labels = np.array([0] * 50 + [1, 1, 2, 2])
    found = split(groups, labels, np.arange(54), fraction=0.1)
    assert np.bincount(labels[found.held_out], minlength=3)[1:].tolist() == [1, 0]
    assert np.bincount(labels[found.train], minlength=3)[1:].tolist() == [1, 2]


def test_the_order_of_the_file_does_not_matter_but_the_seed_does() -> None:
    groups = [f"g{row % 60}" for row in range(600)]
    labels = np.array([row % 60 % 4 for row in range(600)])
    first = {groups[row] for row in split(groups, labels, np.arange(600)).held_out}
    shuffled = np.random.default_rng(1).permutation(600)
    again = [groups[row] for row in shuffled]
    assert {again[row] for row in split(again, labels[shuffled], np.arange(600)).held_out} == first
    assert {groups[row] for row in split(groups, labels, np.arange(600), seed=1).held_out} != first


def test_a_single_group_cannot_be_split() -> None:
    with pytest.raises(DatasetError, match="single group"):
        split(["a", "a"], np.array([0, 1]), np.array([0, 1]))
