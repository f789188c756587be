import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.datasets.records import DatasetError
from trainer.datasets.splitting import Ints, Split, numbered, split_by_group


def split(
    groups: list[str], queries: Ints, documents: Ints, *, seed: int = 0, fraction: float = 0.2
) -> Split:
    return split_by_group(
        groups, queries_N=queries, documents_N=documents, held_out_fraction=fraction, seed=seed
    )


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=80
    ),
    seed=st.integers(0, 5),
)
def test_no_group_query_or_document_is_on_both_sides(rows: list[tuple[int, int, int]], seed: int) -> None:
    groups = [f"g{group}" for group, _, _ in rows]
    queries = np.array([query for _, query, _ in rows])
    documents = np.array([document for _, _, document in rows])
    try:
        found = split(groups, queries, documents, seed=seed)
    except DatasetError:
        return  # all rows hang together
    assert len(found.train) >= 1
    assert len(found.held_out) >= 1
    assert sorted([*found.train, *found.held_out]) == list(range(len(rows)))
    for column in (numbered(groups), queries, documents):
        assert not set(column[found.train]) & set(column[found.held_out])


def test_the_order_of_the_file_does_not_matter_but_the_seed_does() -> None:
    groups = [f"g{row % 50}" for row in range(500)]
    own = np.arange(500)
    first = {groups[row] for row in split(groups, own, own).held_out}
    shuffled = np.random.default_rng(1).permutation(500)
    again = [groups[row] for row in shuffled]
    assert {again[row] for row in split(again, own, own).held_out} == first
    assert {groups[row] for row in split(groups, own, own, seed=1).held_out} != first


def test_about_the_wanted_fraction_is_held_out_even_beside_a_giant_group() -> None:
    groups = ["giant"] * 700 + [f"g{row}" for row in range(300)]
    own = np.arange(1000)
    for seed in range(5):
        found = split(groups, own, own, seed=seed)
        assert 150 <= len(found.held_out) <= 300


def test_a_single_group_cannot_be_split() -> None:
    with pytest.raises(DatasetError, match="single group"):
        split(["a", "a"], np.array([0, 1]), np.array([0, 1]))
