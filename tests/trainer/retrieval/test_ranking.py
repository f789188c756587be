import numpy as np
import pytest

from trainer.retrieval.exact import ExactIndex
from trainer.retrieval.ranking import (
    RECALL_AT,
    Floats,
    Ranking,
    compare_with_all,
    measures,
    rank,
    rows_at_once,
)


def unit(generator: np.random.Generator, *shape: int) -> Floats:
    vectors = generator.normal(size=shape).astype(np.float32)
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def ranked(
    documents: Floats, queries: Floats, golds: list[list[int]], told: list[float] | None = None
) -> Ranking:
    tell = (lambda fraction: None) if told is None else told.append
    return rank(ExactIndex(documents), queries, documents, golds, k=100, tell=tell)


def naive(queries: Floats, documents: Floats, golds: list[list[int]]) -> dict[str, float]:
    """The measures as their definitions read, one query and one document at a time."""
    ranks, margins = [], []
    for query, answers in zip(queries, golds, strict=True):
        scores = [float(np.dot(query, document)) for document in documents]
        gold = max(scores[answer] for answer in answers)
        others = [score for row, score in enumerate(scores) if row not in answers]
        ranks.append(1 + sum(score >= gold for score in others))
        margins.append(gold - max(others))
    values: dict[str, float] = {
        f"recall@{k}": sum(rank <= k for rank in ranks) / len(ranks) for k in RECALL_AT
    }
    values["mrr@10"] = sum(1 / rank for rank in ranks if rank <= 10) / len(ranks)
    values["margin"] = sum(margins) / len(margins)
    return values


@pytest.mark.parametrize("num_documents", [7, 101, 1500])
@pytest.mark.parametrize("num_golds", [1, 3])
def test_the_measures_equal_a_naive_computation(num_documents: int, num_golds: int) -> None:
    generator = np.random.default_rng(num_documents + num_golds)
    documents = unit(generator, num_documents, 16)
    golds = [generator.choice(num_documents, num_golds, replace=False).tolist() for _ in range(60)]
    noise = unit(generator, 60, 16)
    queries = np.stack([documents[some[0]] for some in golds]) + 1.2 * noise
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    found = measures(ranked(documents, queries, golds))
    assert found == pytest.approx(naive(queries, documents, golds), abs=1e-5)


def test_a_collapsed_model_scores_nothing() -> None:
    documents = np.tile(np.eye(1, 8, dtype=np.float32), (500, 1))
    ranking = ranked(documents, documents[:20], [[row] for row in range(20)])
    found = measures(ranking)
    assert found["recall@100"] == 0.0
    assert found["mrr@10"] == 0.0
    assert found["margin"] == 0.0


def test_a_perfect_model_scores_everything() -> None:
    documents = unit(np.random.default_rng(0), 300, 32)
    ranking = ranked(documents, documents, [[row] for row in range(300)])
    assert (ranking.ranks_B == 1).all()
    assert measures(ranking)["recall@1"] == 1.0
    assert (ranking.rows_BK[:, 0] == np.arange(300)).all()


def test_a_pool_of_golds_only_has_no_margin() -> None:
    documents = unit(np.random.default_rng(0), 2, 8)
    ranking = ranked(documents, documents[:1], [[0, 1]])
    assert ranking.ranks_B.tolist() == [1]
    assert np.isnan(measures(ranking)["margin"])


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
