"""The fixed held-out examples that are asked again at every snapshot, and how their answers are judged.

Shape suffixes: B probes, M documents of the pool, K best of them, D length of the vectors.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from trainer.engine.task import ProbeAnswers
from trainer.retrieval.ranking import Floats, Ints, compare_with_all
from trainer.tasks.two_tower.material import Material

NUM_SHOWN: Final = 10


def choose_probes(material: Material, *, count: int, seed: int) -> Ints:
    """Held-out pairs for probing: one of each group in turn, until there are ``count``.

    The choice depends on the seed and the ids only. Of pairs with the same query the first is taken.
    """

    def order(text: str) -> bytes:
        return hashlib.blake2b(f"{seed}:{text}".encode(errors="surrogatepass"), digest_size=8).digest()

    by_group: dict[str, list[int]] = defaultdict(list)
    seen_queries: set[int] = set()
    for row in material.split.held_out.tolist():
        query = int(material.query_of_N[row])
        if query not in seen_queries:
            seen_queries.add(query)
            by_group[material.groups[row]].append(row)
    queues = [
        sorted(by_group[group], key=lambda row: order(material.ids[row]), reverse=True)
        for group in sorted(by_group, key=order)
    ]
    chosen: list[int] = []
    while queues and len(chosen) < count:
        chosen.extend(queue.pop() for queue in queues[: count - len(chosen)])
        queues = [queue for queue in queues if queue]
    return np.array(sorted(chosen), dtype=np.int64)


def describe_probes(material: Material, rows: Ints) -> list[dict[str, Any]]:
    """The probe set as the snapshots carry it, texts whole."""
    described = []
    for row in rows.tolist():
        document = int(material.document_of_N[row])
        described.append(
            {
                "example_id": material.ids[row],
                "input": material.query_texts[row] or material.ids[row],
                "expected_output": material.document_titles[document],
                "group": material.groups[row],
                "gold": material.document_ids[document],
            }
        )
    return described


def answer_probes(
    material: Material,
    queries_BD: Floats,
    documents_MD: Floats,
    *,
    pool: Ints,
    golds: Sequence[Ints],
    temperature: float,
) -> ProbeAnswers:
    """Ask the probes.

    The loss of a probe is its InfoNCE loss against the whole pool: the
    cross-entropy in nats of its best gold among all documents that do not
    answer it, at the training temperature. ``correct`` is 1 when a gold is
    ranked first. Ranks are exact over the whole pool.

    Args:
        queries_BD: unit-norm vectors of the probes.
        documents_MD: unit-norm vectors of the pool.
        pool: the document of each pool row.
        golds: for each probe the pool rows that answer it.
        temperature: softmax temperature.
    """
    found = compare_with_all(queries_BD, documents_MD, golds, temperature=temperature, num_best=NUM_SHOWN)
    columns = {
        "loss": found.losses_B.tolist(),
        "correct": (found.ranks_B == 1).astype(float).tolist(),
        "rank": found.ranks_B.astype(float).tolist(),
        "score": found.gold_scores_B.astype(float).tolist(),
        "margin": (found.gold_scores_B - found.negative_scores_B).astype(float).tolist(),
    }
    outputs: list[dict[str, Any]] = []
    named: set[int] = {int(pool[row]) for some in golds for row in some}
    for rows, scores in zip(found.best_rows_BK, found.best_scores_BK, strict=True):
        documents = pool[rows].tolist()
        named.update(documents)
        outputs.append(
            {
                "top": [
                    [material.document_ids[document], round(float(score), 6)]
                    for document, score in zip(documents, scores, strict=True)
                ]
            }
        )
    described = _described_documents(material, named)
    return ProbeAnswers(columns, outputs, described, _summary(found.ranks_B, pool), vectors_BD=queries_BD)


def _summary(ranks_B: Ints, pool: Ints) -> dict[str, float]:
    reciprocal = np.where(ranks_B <= 10, 1.0 / ranks_B, 0.0)
    return {
        "recall@10": float((ranks_B <= 10).mean()),
        "mrr@10": float(reciprocal.mean()),
        "median_rank": float(np.median(ranks_B)),
        "num_candidates": float(len(pool)),
    }


def _described_documents(material: Material, documents: set[int]) -> dict[str, dict[str, str]]:
    return {
        material.document_ids[document]: {
            "title": material.document_titles[document],
            "text": material.document_texts[document],
        }
        for document in sorted(documents)
    }
