from typing import Any

import numpy as np
import pytest

from trainer.retrieval.exact import ExactIndex
from trainer.retrieval.mining import Wanted, mine_near_misses
from trainer.retrieval.ranking import Floats, Ints


def unit(generator: np.random.Generator, *shape: int) -> Floats:
    vectors = generator.normal(size=shape).astype(np.float32)
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def mine(
    queries: Floats, documents: Floats, golds: list[list[int]], *, depth: int, count: int, **more: Any
) -> Ints:
    return mine_near_misses(
        ExactIndex(documents),
        queries,
        documents,
        golds,
        wanted=Wanted(depth=depth, count=count, **more),
        seed=[1, 2],
        tell=lambda fraction: None,
    )


@pytest.mark.parametrize("duplicate_cosine", [0.9999, 2.0])  # 2: no filter that would catch golds, too
def test_near_misses_are_the_best_wrong_documents_of_their_own_row(duplicate_cosine: float) -> None:
    generator = np.random.default_rng(0)
    documents = unit(generator, 900, 24)
    golds = [[row, (row + 1) % 900] for row in generator.permutation(900)[:700].tolist()]
    queries = documents[[some[0] for some in golds]]
    mined = mine(queries, documents, golds, depth=5, count=3, duplicate_cosine=duplicate_cosine)
    for row, (query, answers) in enumerate(zip(queries, golds, strict=True)):
        order = np.argsort(-(documents @ query))
        wrong = [document for document in order.tolist() if document not in answers][:5]
        assert len(set(mined[row].tolist())) == 3
        assert set(mined[row].tolist()) <= set(wrong), row


def test_a_second_copy_of_the_gold_is_never_mined() -> None:
    generator = np.random.default_rng(0)
    documents = unit(generator, 50, 8)
    documents[25:] = documents[:25]
    mined = mine(documents[:25], documents, [[row] for row in range(25)], depth=49, count=49)
    for row in range(25):
        assert not {row, row + 25} & set(mined[row].tolist())
        assert (mined[row] >= 0).sum() == 48


def test_too_few_wrong_documents_leave_gaps() -> None:
    documents = unit(np.random.default_rng(0), 3, 8)
    mined = mine(documents, documents, [[0], [1], [2]], depth=10, count=4)
    assert ((mined >= 0).sum(axis=1) == 2).all()


def test_the_same_seed_draws_the_same() -> None:
    documents = unit(np.random.default_rng(0), 200, 8)
    golds = [[row] for row in range(200)]
    assert (
        mine(documents, documents, golds, depth=20, count=2)
        == mine(documents, documents, golds, depth=20, count=2)
    ).all()


def test_with_a_window_the_best_documents_inside_it_are_mined_however_many_lie_above() -> None:
    generator = np.random.default_rng(0)
    documents = unit(generator, 900, 3)  # so close together that hundreds lie above the window
    queries = unit(generator, 60, 3)
    golds = [[row] for row in range(60)]
    mined = mine(queries, documents, golds, depth=4, count=2, lowest=0.2, highest=0.5)
    for row, query in enumerate(queries):
        scores = documents @ query
        inside = [d for d in np.argsort(-scores).tolist() if 0.2 <= scores[d] <= 0.5 and d != row][:4]
        assert set(mined[row].tolist()) <= set(inside)
        assert (mined[row] >= 0).sum() == min(2, len(inside))


def test_an_empty_window_leaves_gaps() -> None:
    documents = unit(np.random.default_rng(0), 300, 16)
    mined = mine(documents[:50], documents, [[row] for row in range(50)], depth=5, count=2, lowest=0.97)
    assert (mined == -1).all()


def test_near_copies_of_the_gold_are_filtered_inside_a_window_too() -> None:
    """The original compared candidates, all below 0.96, with a threshold of 0.98: it never fired."""
    generator = np.random.default_rng(0)
    golds = unit(generator, 40, 24)
    copies = golds + 0.02 * unit(generator, 40, 24)
    documents = np.concatenate([golds, copies / np.linalg.norm(copies, axis=1, keepdims=True)])
    queries = golds + 0.45 * unit(generator, 40, 24)
    queries = (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)
    documents = documents.astype(np.float32)
    own = [[row] for row in range(40)]
    window = {"lowest": 0.84, "highest": 0.96}
    with_filter = mine(queries, documents, own, depth=20, count=1, duplicate_cosine=0.98, **window)
    without = mine(queries, documents, own, depth=20, count=1, duplicate_cosine=1.1, **window)
    copies_mined = [int((mined[:, 0] == np.arange(40, 80)).sum()) for mined in (with_filter, without)]
    assert copies_mined[0] == 0
    assert copies_mined[1] > 20
