import numpy as np

from trainer.retrieval.exact import ExactIndex
from trainer.retrieval.mining import mine_near_misses
from trainer.retrieval.ranking import Floats, Ints


def unit(generator: np.random.Generator, *shape: int) -> Floats:
    vectors = generator.normal(size=shape).astype(np.float32)
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def mine(queries: Floats, documents: Floats, golds: list[list[int]], *, depth: int, count: int) -> Ints:
    return mine_near_misses(
        ExactIndex(documents),
        queries,
        documents,
        golds,
        depth=depth,
        count=count,
        seed=[1, 2],
        tell=lambda fraction: None,
    )


def test_near_misses_are_the_best_wrong_documents_of_their_own_row() -> None:
    generator = np.random.default_rng(0)
    documents = unit(generator, 900, 24)
    golds = [[row, (row + 1) % 900] for row in generator.permutation(900)[:700].tolist()]
    queries = documents[[some[0] for some in golds]]
    mined = mine(queries, documents, golds, depth=5, count=3)
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
