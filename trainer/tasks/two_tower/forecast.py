"""What a two-tower run will need, reckoned from its parameters and the size of its dataset.

The same arithmetic as the model, the optimizers and the loop, without any of
them: loads no training library.  Byte counts of weights and checkpoints are
exact but for headers; those of memory are measured constants plus the arrays
that are alive at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer.engine.schedule import next_due_after
from trainer.preflight.outlook import Outlook

FLOAT: Final = 4
MIB: Final = 1024 * 1024
LIBRARIES_BYTES: Final = 360 * MIB  # interpreter, torch, faiss and numpy, loaded and warm
TEXT_COPIES: Final = 2.0  # of the texts at once, while a file is read and hashed
OBJECT_BYTES: Final = 400  # of a pair's texts, beside their characters
GRADIENT_COPIES: Final = 1.15  # of the rows of a table that one batch reads
GRU_COPIES: Final = 14.0  # of a GRU's states, with gates and gradients
READING: Final = 300.0  # what reading and updating one number of a table costs, in multiplications
OUTPUT_BYTES: Final = 700  # of one answered probe in a snapshot, compressed
MOST_SNAPSHOTS: Final = 500


@dataclass(frozen=True)
class Facts:
    """What is known of the dataset, in pairs, documents and characters.

    Attributes:
        num_candidates: distinct documents of the held-out pairs.
        query_shape: (T, D) of query vectors, None for texts; ``document_dim`` likewise.
        query_features: words and n-grams of an average query; ``document_features`` likewise.
    """

    num_pairs: int
    num_train: int
    num_held_out: int
    num_documents: int
    num_candidates: int
    num_groups: int
    is_estimated: bool = False
    query_shape: tuple[int, ...] | None = None
    document_dim: int | None = None
    mean_query_characters: float = 0.0
    mean_document_characters: float = 0.0
    query_features: float = 0.0
    document_features: float = 0.0


def foresee(facts: Facts, params: Mapping[str, Any]) -> Outlook:
    """The outlook of a run with ``params``."""
    num_train = min(facts.num_train, params["max_pairs"] or facts.num_train)
    batch = min(params["batch_size"], max(1, num_train))
    num_batches = num_train // batch if num_train > 1 else 0
    per_epoch = -(-num_batches // params["accumulate"])
    total = (params["max_steps"] or per_epoch * params["num_epochs"]) if per_epoch else 0
    return Outlook(
        num_examples=facts.num_pairs,
        num_train=num_train,
        num_held_out=facts.num_held_out,
        is_estimated=facts.is_estimated,
        batch_size=params["batch_size"],
        accumulate=params["accumulate"],
        steps_per_epoch=per_epoch,
        total_steps=total,
        warmup_steps=params["warmup_steps"],
        eval_every=params["eval_every"] or max(1, per_epoch),
        checkpoint_every=params["checkpoint_every"] or max(1, per_epoch),
        keep_checkpoints=params["keep_checkpoints"],
        is_recurrent=facts.query_shape is not None,
        checkpoint_bytes=checkpoint_bytes(facts, params, num_train=num_train),
        snapshots_bytes=_snapshots_bytes(facts, params, total),
        memory_bytes=_memory_bytes(facts, params, num_train=num_train),
        device_bytes=int(4 * FLOAT * num_weights(facts, params) + _batch_bytes(facts, params, num_train)),
        step_flop=_step_flop(facts, params, batch),
    )


def num_weights(facts: Facts, params: Mapping[str, Any]) -> int:
    """Trainable numbers of both towers."""
    dim, hidden = params["dim"], params["hidden_dim"]
    if facts.query_shape is None:
        tables = params["num_buckets"] * dim * (1 if params["share_towers"] else 2)
        tower: int = 2 * dim + dim * hidden + hidden + hidden * dim + dim
        return int(tables + 2 * tower)
    directions = 2 if params["bidirectional"] else 1
    inputs = [facts.query_shape[1], *[hidden * directions] * (params["num_layers"] - 1)]
    gru = sum(directions * 3 * hidden * (width + hidden + 2) for width in inputs)
    project = hidden * directions * dim + dim
    document = 0 if params["document_tower"] == "identity" else (facts.document_dim or 0) * dim + dim
    return int(gru + project + document)


def checkpoint_bytes(facts: Facts, params: Mapping[str, Any], *, num_train: int) -> int:
    """Of one checkpoint file: weights, both moments of the optimizers, and the mined documents."""
    mined = 8 * num_train * int(params["mined_negatives"])
    return FLOAT * 3 * num_weights(facts, params) + mined + 16_384


def _snapshots_bytes(facts: Facts, params: Mapping[str, Any], total_steps: int) -> int:
    num_probes = min(params["num_probes"], facts.num_held_out)
    texts = 0.4 * (facts.mean_document_characters + facts.mean_query_characters)
    return int(_num_snapshots(total_steps) * num_probes * (OUTPUT_BYTES + texts))


def _num_snapshots(total_steps: int) -> int:
    """Those of the schedule, were the budget to allow them all."""
    count, step = 1, 0
    while step < total_steps and count < MOST_SNAPSHOTS:
        step = next_due_after(step)
        count += 1
    return count


def _memory_bytes(facts: Facts, params: Mapping[str, Any], *, num_train: int) -> int:
    """The largest of what is alive at once while loading, training, and searching."""
    weights = 4 * FLOAT * num_weights(facts, params)  # with gradients or their copies, and both moments
    dataset = _dataset_bytes(facts, params)
    working = max(_batch_bytes(facts, params, num_train), _search_bytes(facts, params, num_train))
    return int(LIBRARIES_BYTES + weights + dataset + working)


def _dataset_bytes(facts: Facts, params: Mapping[str, Any]) -> float:
    if facts.query_shape is not None:
        return FLOAT * facts.num_pairs * (math.prod(facts.query_shape) + 2 * (facts.document_dim or 0))
    characters = facts.mean_query_characters + facts.mean_document_characters
    texts = facts.num_pairs * (TEXT_COPIES * characters + OBJECT_BYTES)
    features = facts.num_pairs * (facts.query_features + facts.document_features) * 4
    return texts + 1.5 * features


def _num_candidates(params: Mapping[str, Any], batch: int) -> int:
    """Documents of one batch, with further negatives."""
    return int(batch * (1 + params["mined_negatives"] + params["group_negatives"]))


def _batch_bytes(facts: Facts, params: Mapping[str, Any], num_train: int) -> float:
    """Activations and gradients of what goes through the model at once."""
    batch = min(params["batch_size"], max(1, num_train), params.get("micro_batch_size") or 2**62)
    documents = _num_candidates(params, min(params["batch_size"], max(1, num_train)))
    scores = 3 * FLOAT * batch * documents
    dim, hidden = params["dim"], params["hidden_dim"]
    if facts.query_shape is None:
        rows = batch * facts.query_features + documents * facts.document_features
        layers = (batch + documents) * 4 * FLOAT * (dim + hidden)
        return float(rows * (GRADIENT_COPIES * FLOAT * dim + 16) + layers + scores)
    length, width = facts.query_shape
    directions = 2 if params["bidirectional"] else 1
    states = batch * length * directions * hidden * params["num_layers"]
    inputs = batch * length * width
    return float(FLOAT * (GRU_COPIES * states + 2 * inputs + 4 * documents * dim) + scores)


def _search_bytes(facts: Facts, params: Mapping[str, Any], num_train: int) -> float:
    """Vectors of queries and documents, and the index beside them."""
    pool = facts.num_documents if params["candidates"] == "all" else facts.num_candidates
    queries = facts.num_held_out
    if params["mined_negatives"]:
        pool, queries = max(pool, facts.num_documents), max(queries, num_train)
    return float(FLOAT * params["dim"] * (2 * pool + queries))


def _step_flop(facts: Facts, params: Mapping[str, Any], batch: int) -> float:
    """Multiplications and additions of forward and backward passes of one optimizer step."""
    documents = _num_candidates(params, batch)
    dim, hidden = params["dim"], params["hidden_dim"]
    scores = 2.0 * batch * documents * dim
    if facts.query_shape is None:
        rows = batch * facts.query_features + documents * facts.document_features
        reading = READING * rows * dim
        forward = 4.0 * (batch + documents) * dim * hidden + reading + scores
    else:
        directions = 2 if params["bidirectional"] else 1
        length, width = facts.query_shape
        widths = [width, *[hidden * directions] * (params["num_layers"] - 1)]
        gru = sum(2.0 * 3 * hidden * (one + hidden) * directions for one in widths) * length * batch
        linear = (
            0 if params["document_tower"] == "identity" else 2.0 * (facts.document_dim or 0) * dim * documents
        )
        forward = gru + linear + scores
    return float(3.0 * params["accumulate"] * forward)
