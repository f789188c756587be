import numpy as np
import pytest

from trainer.retrieval.exact import ExactIndex
from trainer.retrieval.ranking import Floats, Ranking, compare_with_all, rank, rows_at_once


def unit(generator: np.random.Generator, *shape: int) -> Floats:
    vectors = generator.normal(size=shape).astype(np.float32)
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def ranked(
    documents: Floats, queries: Floats, golds: list[list[int]], told: list[float] | None = None
) -> Ranking:
    tell = (lambda fraction: None) if told is None else told.append
    return rank(ExactIndex(documents), queries, documents, golds, k=100, tell=tell)


def test_a_pool_of_golds_only_has_no_margin() -> None:
    documents = unit(np.random.default_rng(0), 2, 8)
    ranking = ranked(documents, documents[:1], [[0, 1]])
    assert ranking.ranks_B.tolist() == [1]
    assert np.isnan(ranking.negative_scores_B).all()
    assert np.isnan(ranking.hard_negative_scores_B).all()
    assert ranking.ndcg_B.tolist() == [1.0]


def test_only_as_many_documents_are_kept_as_are_asked_for_and_the_ranks_are_the_same() -> None:
    generator = np.random.default_rng(0)
    documents, queries = unit(generator, 300, 8), unit(generator, 40, 8)
    golds = [[row] for row in range(40)]
    whole = rank(ExactIndex(documents), queries, documents, golds, k=100, tell=lambda fraction: None)
    short = rank(
        ExactIndex(documents), queries, documents, golds, k=100, tell=lambda fraction: None, num_kept=10
    )
    assert short.rows_BK.shape == short.scores_BK.shape == (40, 10)
    assert (short.rows_BK == whole.rows_BK[:, :10]).all()
    assert (short.ranks_B == whole.ranks_B).all()


def test_ranking_tells_how_far_it_is() -> None:
    documents = unit(np.random.default_rng(0), 300, 8)
    told: list[float] = []
    ranked(documents, np.tile(documents, (7, 1)), [[row] for row in range(300)] * 7, told)
    assert told == sorted(told)
    assert (told[-1], len(told)) == (1.0, 3)


@pytest.mark.parametrize(
    ("shape", "expected"), [((10, 4), 512), ((1_000_000, 128), 195), ((50_000_000, 768), 32)]
)
def test_a_large_pool_is_asked_for_fewer_queries_at_a_time(shape: tuple[int, int], expected: int) -> None:
    documents = np.broadcast_to(np.float32(0), shape)
    assert rows_at_once(512, documents) == expected


@pytest.mark.parametrize("num_documents", [3, 40_000])
def test_comparing_with_all_equals_the_definitions_over_every_document(num_documents: int) -> None:
    generator = np.random.default_rng(1)
    documents = unit(generator, num_documents, 8)
    golds = [[0], [1, num_documents - 1], [2]]
    queries = documents[:3] + 0.5 * unit(generator, 3, 8)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    found = compare_with_all(queries, documents, golds, temperature=0.1, num_best=10)
    for row, (query, answers) in enumerate(zip(queries, golds, strict=True)):
        scores = (documents @ query).astype(np.float64)
        gold, others = scores[answers].max(), np.delete(scores, answers)
        assert found.ranks_B[row] == 1 + (others >= gold).sum()
        assert found.negative_scores_B[row] == pytest.approx(others.max(), abs=1e-5)
        expected = np.log(np.exp(others / 0.1).sum() + np.exp(gold / 0.1)) - gold / 0.1
        assert found.losses_B[row] == pytest.approx(expected, abs=1e-4)
        best = found.best_rows_BK[row]
        assert scores[best] == pytest.approx(np.sort(scores)[::-1][:10], abs=1e-6)
        assert found.best_scores_BK[row] == pytest.approx(scores[best], abs=1e-6)
        assert len(set(best.tolist())) == min(10, num_documents)


def test_of_equal_documents_the_first_are_the_best_ones() -> None:
    documents = np.tile(np.eye(2, 8, dtype=np.float32), (20_000, 1))
    found = compare_with_all(documents[:1], documents, [[0]], temperature=0.1, num_best=3)
    assert found.best_scores_BK.tolist() == [[1.0, 1.0, 1.0]]
    assert all(row % 2 == 0 for row in found.best_rows_BK[0].tolist())


def test_comparing_with_nothing_but_golds_costs_nothing() -> None:
    documents = unit(np.random.default_rng(0), 2, 8)
    found = compare_with_all(documents[:1], documents, [[0, 1]], temperature=0.05, num_best=10)
    assert found.ranks_B.tolist() == [1]
    assert found.losses_B.tolist() == [0.0]
    assert np.isnan(found.negative_scores_B).all()
