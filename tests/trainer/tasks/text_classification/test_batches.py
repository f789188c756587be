import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainer.language.token_cache import TokenRows
from trainer.tasks.text_classification.batches import Cutter, batches_of_epoch, in_order_of_length


@given(
    lengths=st.lists(st.integers(1, 200), min_size=1, max_size=300),
    size=st.integers(1, 40),
    epoch=st.integers(0, 3),
)
def test_an_epoch_has_every_text_once_and_is_the_same_again(
    lengths: list[int], size: int, epoch: int
) -> None:
    cut = batches_of_epoch(np.array(lengths), batch_size=size, seed=1, epoch=epoch)
    again = batches_of_epoch(np.array(lengths), batch_size=size, seed=1, epoch=epoch)
    assert sorted(np.concatenate(cut).tolist()) == list(range(len(lengths)))
    assert len(cut) == -(-len(lengths) // size)
    assert all(len(batch) == size for batch in cut[:-1])
    assert [batch.tolist() for batch in cut] == [batch.tolist() for batch in again]


def test_texts_of_a_batch_are_of_about_one_length_and_epochs_differ() -> None:
    lengths = np.random.default_rng(0).integers(1, 500, size=1600)
    cut = batches_of_epoch(lengths, batch_size=16, seed=1, epoch=0)
    padding = sum(len(one) * lengths[one].max() for one in cut) / lengths.sum()
    assert padding < 1.1
    other = batches_of_epoch(lengths, batch_size=16, seed=1, epoch=1)
    assert [batch.tolist() for batch in cut] != [batch.tolist() for batch in other]
    firsts = [int(lengths[batch].max()) for batch in cut[:20]]
    assert firsts != sorted(firsts)  # lengths come in no order


def rows(*texts: list[int]) -> TokenRows:
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    ids = np.array([token for text in texts for token in text], dtype=np.int32)
    return TokenRows(ids, starts, np.zeros(len(ids), dtype=np.bool_))


def test_a_text_that_is_cut_keeps_its_closing_token() -> None:
    cutter = Cutter(
        rows([0, 7, 8, 9, 2], [0, 5, 2], []), max_length=4, closing_ids=frozenset({0, 2}), padding_id=1
    )
    batch = cutter.batch(np.array([0, 1, 2]), np.array([1, 0, 1]))
    assert batch.ids.tolist() == [[0, 7, 8, 2], [0, 5, 2, 1], [1, 1, 1, 1]]
    assert batch.mask.tolist() == [[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]]  # a text without tokens has one
    assert cutter.num_cut == 1
    assert batch.part(1, 2).ids.tolist() == [[0, 5, 2]]


def test_a_plain_last_token_is_cut_like_any_other() -> None:
    cutter = Cutter(rows([5, 6, 7, 8]), max_length=2, closing_ids=frozenset({2}), padding_id=1)
    assert cutter.batch(np.array([0]), np.array([0])).ids.tolist() == [[5, 6]]


def test_asking_begins_with_the_longest() -> None:
    lengths = np.array([5, 1, 9, 3])
    places = [some.tolist() for some in in_order_of_length(np.array([1, 2, 3]), lengths, batch_size=2)]
    assert places == [[1, 2], [0]]
