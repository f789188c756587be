import math

import numpy as np
import pytest

from trainer.retrieval.exact import ExactIndex
from trainer.retrieval.measures import (
    CONTAIN_AT,
    DEPTH,
    RECALL_AT,
    contain,
    measures,
    oracle,
    overlap,
    served_ranks,
)
from trainer.retrieval.ranking import Floats, Ints, Ranking, rank


def unit(generator: np.random.Generator, *shape: int) -> Floats:
    vectors = generator.normal(size=shape).astype(np.float32)
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def ranked(documents: Floats, queries: Floats, golds: list[list[int]]) -> Ranking:
    return rank(ExactIndex(documents), queries, documents, golds, k=DEPTH, tell=lambda fraction: None)


def naive(queries: Floats, documents: Floats, golds: list[list[int]]) -> dict[str, float]:
    """The measures as their definitions read, one query and one document at a time."""
    tables: dict[str, list[float]] = {name: [] for name in ("rank", "margin", "pos", "hard", "gain")}
    for query, answers in zip(queries, golds, strict=True):
        scores = [float(np.dot(query, document)) for document in documents]
        gold = max(scores[answer] for answer in answers)
        others = sorted((score for row, score in enumerate(scores) if row not in answers), reverse=True)
        tables["rank"].append(1 + sum(score >= gold for score in others))
        tables["margin"].append(gold - others[0])
        tables["pos"].append(gold)
        tables["hard"].append(sum(others[:50]) / len(others[:50]))
        gain = 0.0
        for before, answer in enumerate(sorted(answers, key=lambda one: -scores[one])):
            place = 1 + before + sum(score >= scores[answer] for score in others)
            gain += 1 / math.log2(1 + place) if place <= 10 else 0.0
        ideal = sum(1 / math.log2(1 + place) for place in range(1, min(10, len(answers)) + 1))
        tables["gain"].append(gain / ideal)
    ranks, count = tables["rank"], len(golds)
    values: dict[str, float] = {f"recall@{k}": sum(rank <= k for rank in ranks) / count for k in RECALL_AT}
    values["mrr"] = sum(1 / rank for rank in ranks if rank <= 1000) / count
    values["mrr@10"] = sum(1 / rank for rank in ranks if rank <= 10) / count
    values["ndcg@10"] = sum(tables["gain"]) / count
    values["margin"] = sum(tables["margin"]) / count
    values["cos_positive"] = sum(tables["pos"]) / count
    values["cos_hard_negative"] = sum(tables["hard"]) / count
    values["separation"] = values["cos_positive"] - values["cos_hard_negative"]
    return values


def noisy(documents: Floats, golds: list[list[int]], generator: np.random.Generator) -> Floats:
    """Queries somewhere near the first of their golds."""
    queries = np.stack([documents[some[0]] for some in golds])
    queries = queries + 1.2 * unit(generator, len(golds), documents.shape[1])
    scaled: Floats = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    return scaled


@pytest.mark.parametrize("num_documents", [7, 101, 1500])
@pytest.mark.parametrize("num_golds", [1, 3, 5])
def test_the_measures_equal_a_naive_computation(num_documents: int, num_golds: int) -> None:
    generator = np.random.default_rng(num_documents + num_golds)
    documents = unit(generator, num_documents, 16)
    golds = [generator.choice(num_documents, 1 + n % num_golds, replace=False).tolist() for n in range(60)]
    queries = noisy(documents, golds, generator)
    found = measures(ranked(documents, queries, golds))
    assert found == pytest.approx(naive(queries, documents, golds), abs=1e-5)


def test_equal_documents_count_against_the_model_as_a_naive_computation_does() -> None:
    generator = np.random.default_rng(3)
    # few values whose sums of products are exact, so that ties are ties in any order of summing
    documents = generator.choice([-0.5, 0.5], size=(400, 4)).astype(np.float32)
    golds = [[n, 399 - n] for n in range(50)]
    queries = documents[:50]
    found = measures(ranked(documents, queries, golds))
    assert found == pytest.approx(naive(queries, documents, golds), abs=1e-5)
    assert found["ndcg@10"] == 0.0


def test_a_collapsed_model_scores_nothing() -> None:
    documents = np.tile(np.eye(1, 8, dtype=np.float32), (1500, 1))
    golds = [[row] for row in range(20)]
    found = measures(ranked(documents, documents[:20], golds))
    assert {name: value for name, value in found.items() if value != 0.0} == {
        "cos_positive": 1.0,
        "cos_hard_negative": 1.0,
    }
    index = ExactIndex(documents)
    assert set(contain(served_ranks(index, documents[:20], documents, golds, k=50)).values()) == {0.0}
    assert oracle(index, documents) == 0.0


def test_a_perfect_model_scores_everything() -> None:
    documents = unit(np.random.default_rng(0), 300, 32)
    golds = [[row] for row in range(300)]
    ranking = ranked(documents, documents, golds)
    found = measures(ranking)
    assert {found[name] for name in found if "@" in name or name == "mrr"} == {1.0}
    assert (ranking.rows_BK[:, 0] == np.arange(300)).all()
    assert oracle(ExactIndex(documents), documents) == 1.0


def test_an_oracle_finds_documents_that_are_there_twice() -> None:
    documents = unit(np.random.default_rng(0), 10, 16)
    documents[3] = documents[7]
    assert oracle(ExactIndex(documents), documents) == pytest.approx(0.8)


def test_an_oracle_notices_rows_that_are_out_of_step() -> None:
    documents = unit(np.random.default_rng(0), 2000, 16)
    assert oracle(ExactIndex(np.roll(documents, 1, axis=0)), documents) == 0.0


class Forgetful:
    """Serves every other document, as an index that misses some would."""

    def __init__(self, documents: Floats) -> None:
        self._exact = ExactIndex(documents)

    def search(self, queries_BD: Floats, *, k: int) -> tuple[Floats, Ints]:
        scores, rows = self._exact.search(queries_BD, k=k)
        missed = rows % 2 == 1
        rows[missed], scores[missed] = -1, -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")
        return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


@pytest.mark.parametrize("num_documents", [40, 300])
def test_contain_is_about_the_list_that_is_served(num_documents: int) -> None:
    documents = unit(np.random.default_rng(0), num_documents, 16)
    golds = [[row] for row in range(40)]
    exact = ranked(documents, documents[:40], golds)
    everything = contain(served_ranks(ExactIndex(documents), documents[:40], documents, golds, k=50))
    assert everything == {f"contain@{k}": 1.0 for k in CONTAIN_AT}
    index = Forgetful(documents)
    half = contain(served_ranks(index, documents[:40], documents, golds, k=50))
    assert half == {f"contain@{k}": 0.5 for k in CONTAIN_AT}
    _, served = index.search(documents[:40], k=10)
    assert overlap(exact.rows_BK[:, :10], served) == pytest.approx(
        (exact.rows_BK[:, :10] % 2 == 0).mean(), abs=1e-9
    )


@pytest.mark.parametrize("num_golds", [1, 3])
def test_contain_of_an_exact_index_equals_recall(num_golds: int) -> None:
    generator = np.random.default_rng(5)
    documents = unit(generator, 500, 8)
    golds = [generator.choice(500, num_golds, replace=False).tolist() for _ in range(80)]
    queries = noisy(documents, golds, generator)
    ranks = served_ranks(ExactIndex(documents), queries, documents, golds, k=50)
    assert (ranks == np.minimum(ranked(documents, queries, golds).ranks_B, 51)).all()
