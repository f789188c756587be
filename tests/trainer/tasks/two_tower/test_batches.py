from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainer.tasks.two_tower.small_material import params, silent, text_pairs
from trainer.datasets.records import DatasetError
from trainer.tasks.two_tower.batches import Batch, Sampler, SamplerSettings
from trainer.tasks.two_tower.features import Ints
from trainer.tasks.two_tower.material import Material, from_texts


@pytest.fixture
def material(tmp_path: Path) -> Material:
    return from_texts(text_pairs(), params(dropout=0.3), cache=tmp_path, tell=silent)


def sampler(material: Material, **changes: Any) -> Sampler:
    settings = {
        "batch_size": 16,
        "max_pairs": 0,
        "train_fraction": 1.0,
        "group_negatives": 2,
        "seed": 3,
    }
    return Sampler(material, SamplerSettings(**{**settings, **changes}))


def same(one: Batch, two: Batch) -> bool:
    return (
        bool((one.rows_B == two.rows_B).all())
        and bool((one.documents_N == two.documents_N).all())
        and all(bool((a == b).all()) for a, b in zip(one.query, two.query, strict=True))
        and all(bool((a == b).all()) for a, b in zip(one.document, two.document, strict=True))
        and one.near_miss_share == two.near_miss_share
    )


def test_every_training_pair_comes_at_most_once_per_epoch_and_none_is_held_out(material: Material) -> None:
    made = sampler(material)
    rows = np.concatenate([batch.rows_B for batch in made.batches(0, start=0, mined=None)])
    assert len(rows) == made.num_batches() * 16
    assert len(set(rows.tolist())) == len(rows)
    assert not set(rows.tolist()) & set(material.split.held_out.tolist())


def test_epochs_differ_and_repeat_exactly(material: Material) -> None:
    first = list(sampler(material).batches(0, start=0, mined=None))
    again = list(sampler(material).batches(0, start=0, mined=None))
    other = list(sampler(material).batches(1, start=0, mined=None))
    assert all(same(one, two) for one, two in zip(first, again, strict=True))
    assert not same(first[0], other[0])


@pytest.mark.parametrize("start", [1, 4])
def test_skipping_gives_what_would_have_come(material: Material, start: int) -> None:
    whole = list(sampler(material).batches(2, start=0, mined=None))
    rest = list(sampler(material).batches(2, start=start, mined=None))
    assert len(rest) == len(whole) - start
    assert all(same(one, two) for one, two in zip(whole[start:], rest, strict=True))


def test_mined_documents_go_to_the_batch_of_their_own_pair(material: Material) -> None:
    made = sampler(material, group_negatives=0)
    # Each row's mined document is one nobody else has, so a wrong alignment cannot stay hidden.
    own = {
        int(row): int(document)
        for row, document in zip(made.train_rows, _strangers(made, material), strict=True)
    }
    mined = np.array([[own[int(row)]] for row in made.train_rows])
    for batch in made.batches(5, start=0, mined=mined):
        expected = {own[int(row)] for row in batch.rows_B} - set(batch.documents_N[: len(batch)].tolist())
        assert set(batch.documents_N[len(batch) :].tolist()) == expected


def _strangers(made: Sampler, material: Material) -> Ints:
    """For the i-th training row the document of the row half the set further on."""
    documents = material.document_of_N[made.train_rows]
    return np.roll(documents, len(documents) // 2)


def test_whatever_answers_the_query_is_no_negative(material: Material) -> None:
    made = sampler(material, batch_size=150, group_negatives=8)
    masked_pairs = 0
    for epoch in range(3):
        for batch in made.batches(epoch, start=0, mined=None):
            for place, row in enumerate(batch.rows_B.tolist()):
                answers = set(made.golds_of(row).tolist())
                for column, document in enumerate(batch.documents_N.tolist()):
                    masked = batch.masked_BN is not None and bool(batch.masked_BN[place, column])
                    assert masked == (document in answers and column != place)
                    masked_pairs += masked
    assert masked_pairs > 0


def test_group_negatives_are_training_documents_of_the_groups_in_the_batch(material: Material) -> None:
    made = sampler(material, batch_size=4, group_negatives=3)
    group_of_document = {
        int(material.document_of_N[row]): material.groups[row] for row in material.split.train.tolist()
    }
    seen = 0
    for batch in made.batches(0, start=0, mined=None):
        groups = {material.groups[row] for row in batch.rows_B.tolist()}
        for document in batch.documents_N[len(batch) :].tolist():
            assert group_of_document[document] in groups
            seen += 1
    assert seen > 0


def test_a_limit_takes_fewer_pairs_and_a_batch_is_never_larger_than_they_are(material: Material) -> None:
    made = sampler(material, max_pairs=10)
    assert len(made.train_rows) == 10
    assert made.batch_size == 10
    assert made.num_batches() == 1


def test_a_share_takes_fewer_pairs_which_are_among_those_of_a_larger_share(material: Material) -> None:
    rows = [
        set(sampler(material, train_fraction=share).train_rows.tolist()) for share in (1.0, 0.5, 0.25, 0.125)
    ]
    assert all(fewer < more for more, fewer in pairwise(rows))
    assert len(rows[1]) == -(-len(rows[0]) // 2)
    assert len(sampler(material, train_fraction=0.5, max_pairs=10).train_rows) == 10


def test_what_was_mined_stays_with_its_pair_when_a_resumed_run_has_fewer_or_more_of_them(
    material: Material,
) -> None:
    whole, half = sampler(material), sampler(material, train_fraction=0.5)
    mined = np.stack([whole.train_rows * 10, whole.train_rows * 10 + 1], axis=1)
    fewer = half.matched(mined, whole.train_rows)
    assert (fewer[:, 0] == half.train_rows * 10).all()
    more = whole.matched(fewer, half.train_rows)
    known = np.isin(whole.train_rows, half.train_rows)
    assert (more[known] == mined[known]).all()
    assert (more[~known] == -1).all()


def test_a_single_training_pair_is_refused(material: Material) -> None:
    with pytest.raises(DatasetError, match="1 pair is left"):
        sampler(material, max_pairs=1)
