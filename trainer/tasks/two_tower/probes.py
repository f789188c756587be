"""The fixed held-out examples that are asked again at every snapshot, and how their answers are judged.

Shape suffixes: B probes, M documents of the pool, K best of them, D length of the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from trainer.datasets.pinned import pinned_rows
from trainer.engine.task import ProbeAnswers
from trainer.retrieval.ranking import Floats, Ints, compare_with_all
from trainer.tasks.probe_choice import choose_in_turn
from trainer.tasks.two_tower.material import Material

NUM_SHOWN: Final = 10


def choose_probes(material: Material, *, count: int, seed: int, pinned: Sequence[str] = ()) -> Ints:
    """Held-out pairs for probing: the ``pinned`` ones, then one of each group in turn.

    Of pairs with the same query the pinned one, or the first, is taken.

    Raises:
        DatasetError: a pinned one does not exist, or is not held out.
    """
    split = material.split
    held_out = split.held_out.tolist()
    first = pinned_rows(
        pinned, name=material.name, ids=material.ids, held_out=held_out, trained=split.train.tolist()
    )
    seen_queries = {int(material.query_of_N[row]) for row in first}
    rows = []
    for row in held_out:
        query = int(material.query_of_N[row])
        if query not in seen_queries:
            seen_queries.add(query)
            rows.append(row)
    chosen = choose_in_turn(
        rows, ids=material.ids, group_of=material.groups.__getitem__, count=count, seed=seed, pinned=first
    )
    return np.array(chosen, dtype=np.int64)


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
