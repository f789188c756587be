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
from trainer.recipes.curriculum import MiningPlan, mining_plan
from trainer.recipes.ranks import batches_per_step
from trainer.tasks.two_tower.encoder_sizes import STATE_COPIES, EncoderSize, tokens_of

FLOAT: Final = 4
MIB: Final = 1024 * 1024
LIBRARIES_BYTES: Final = 360 * MIB  # interpreter, torch, faiss and numpy, loaded and warm
TRANSFORMERS_BYTES: Final = 180 * MIB  # that library and what it loads
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
        encoder: what reads the texts, where that is no bag of words.
    """

    num_pairs: int
    num_train: int
    num_held_out: int
    num_documents: int
    num_candidates: int
    num_groups: int
    num_bank: int = 0
    is_estimated: bool = False
    query_shape: tuple[int, ...] | None = None
    document_dim: int | None = None
    mean_query_characters: float = 0.0
    mean_document_characters: float = 0.0
    query_features: float = 0.0
    document_features: float = 0.0
    encoder: EncoderSize | None = None


def foresee(facts: Facts, params: Mapping[str, Any]) -> Outlook:
    """The outlook of a run with ``params``."""
    num_train = min(facts.num_train, params["max_pairs"] or facts.num_train)
    batch = min(params["batch_size"], max(1, num_train))
    num_batches = num_train // batch if num_train > 1 else 0
    accumulate = batches_per_step(params)
    per_epoch = -(-num_batches // accumulate)
    total = (params["max_steps"] or per_epoch * params["num_epochs"]) if per_epoch else 0
    return Outlook(
        num_examples=facts.num_pairs,
        num_train=num_train,
        num_held_out=facts.num_held_out,
        is_estimated=facts.is_estimated,
        batch_size=params["batch_size"],
        accumulate=accumulate,
        steps_per_epoch=per_epoch,
        total_steps=total,
        warmup_steps=params["warmup_steps"],
        eval_every=params["eval_every"] or max(1, per_epoch),
        checkpoint_every=params["checkpoint_every"] or max(1, per_epoch),
        keep_checkpoints=params["keep_checkpoints"],
        is_recurrent=facts.query_shape is not None and params["query_tower"] == "gru",
        checkpoint_bytes=checkpoint_bytes(facts, params, num_train=num_train),
        snapshots_bytes=_snapshots_bytes(facts, params, total),
        memory_bytes=_memory_bytes(facts, params, num_train=num_train),
        device_bytes=int(4 * FLOAT * num_weights(facts, params) + _batch_bytes(facts, params, num_train)),
        step_flop=_step_flop(facts, params, batch),
    )


def num_weights(facts: Facts, params: Mapping[str, Any]) -> int:
    """Trainable numbers of both towers."""
    dim, hidden = params["dim"], params["hidden_dim"]
    if facts.encoder is not None:
        read = 0 if params["encoder"] == "frozen" else facts.encoder.weights
        return int((read + facts.encoder.width * dim + dim) * (1 if params["share_towers"] else 2))
    if facts.query_shape is None:
        tables = params["num_buckets"] * dim * (1 if params["share_towers"] else 2)
        tower: int = 2 * dim + dim * hidden + hidden + hidden * dim + dim
        return int(tables + 2 * tower)
    document = _tower_weights(params["document_tower"], facts.document_dim or 0, params)
    if params["share_towers"] and params["query_tower"] == params["document_tower"] == "mlp":
        return document
    return document + _tower_weights(params["query_tower"], facts.query_shape[1], params)


def _tower_weights(kind: str, length: int, params: Mapping[str, Any]) -> int:
    """Trainable numbers of a tower over vectors of ``length``."""
    dim, hidden = params["dim"], params["hidden_dim"]
    if kind == "identity":
        return 0
    if kind == "linear":
        return int(length * dim + dim)
    if kind == "mlp":
        return int(length * hidden + 3 * hidden + hidden * dim + dim)
    directions = 2 if params["bidirectional"] else 1
    inputs = [length, *[hidden * directions] * (params["num_layers"] - 1)]
    gru = sum(directions * 3 * hidden * (width + hidden + 2) for width in inputs)
    return int(gru + hidden * directions * dim + dim)


def plan_of(params: Mapping[str, Any]) -> MiningPlan:
    """When complete parameters ask for near misses, and for how many."""
    return mining_plan(
        params["curriculum"],
        mined_negatives=params["mined_negatives"],
        mine_from_epoch=params["mine_from_epoch"],
    )


def checkpoint_bytes(facts: Facts, params: Mapping[str, Any], *, num_train: int) -> int:
    """Of one checkpoint file: weights, both moments of the optimizers, mined documents, memory bank."""
    most = plan_of(params).most
    mined = 8 * num_train * (most + 1 if most else 0)
    return FLOAT * 3 * num_weights(facts, params) + mined + _bank_bytes(facts, params) + 16_384


def _bank_bytes(facts: Facts, params: Mapping[str, Any]) -> int:
    """Of a full memory bank; it holds every document once."""
    return min(int(params["memory_bank"]), facts.num_documents) * (FLOAT * int(params["dim"]) + 8)


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
    if facts.encoder is not None:
        weights += FLOAT * facts.encoder.weights + TRANSFORMERS_BYTES
    dataset = _dataset_bytes(facts, params)
    working = max(_batch_bytes(facts, params, num_train), _search_bytes(facts, params, num_train))
    return int(LIBRARIES_BYTES + weights + dataset + working + _bank_bytes(facts, params))


def _dataset_bytes(facts: Facts, params: Mapping[str, Any]) -> float:
    if facts.query_shape is not None:
        pairs = facts.num_pairs * (math.prod(facts.query_shape) + 2 * (facts.document_dim or 0))
        return FLOAT * (pairs + 2 * facts.num_bank * (facts.document_dim or 0))
    characters = facts.mean_query_characters + facts.mean_document_characters
    texts = facts.num_pairs * (TEXT_COPIES * characters + OBJECT_BYTES)
    features = facts.num_pairs * (facts.query_features + facts.document_features) * 4
    return texts + 1.5 * features


def _num_candidates(params: Mapping[str, Any], batch: int) -> int:
    """Documents of one batch, with further negatives."""
    return int(batch * (1 + plan_of(params).most + params["group_negatives"]))


def _batch_bytes(facts: Facts, params: Mapping[str, Any], num_train: int) -> float:
    """Activations and gradients of what goes through the model at once."""
    batch = min(params["batch_size"], max(1, num_train), params.get("micro_batch_size") or 2**62)
    documents = _num_candidates(params, min(params["batch_size"], max(1, num_train)))
    scores = 3 * FLOAT * batch * (documents + min(params["memory_bank"], facts.num_documents))
    dim, hidden = params["dim"], params["hidden_dim"]
    if facts.encoder is not None:
        if params["encoder"] == "frozen":
            return float(4 * FLOAT * (batch + documents) * (facts.encoder.width + dim) + scores)
        held = STATE_COPIES * FLOAT * facts.encoder.width * facts.encoder.layers
        return float(_num_tokens(facts, params, batch, documents) * held + scores)
    if facts.query_shape is None:
        rows = batch * facts.query_features + documents * facts.document_features
        layers = (batch + documents) * 4 * FLOAT * (dim + hidden)
        return float(rows * (GRADIENT_COPIES * FLOAT * dim + 16) + layers + scores)
    length, width = facts.query_shape
    directions = 2 if params["bidirectional"] else 1
    is_recurrent = params["query_tower"] == "gru"
    states = batch * length * directions * hidden * params["num_layers"] if is_recurrent else batch * hidden
    inputs = batch * length * width
    return float(FLOAT * (GRU_COPIES * states + 2 * inputs + 4 * documents * dim) + scores)


def _search_bytes(facts: Facts, params: Mapping[str, Any], num_train: int) -> float:
    """Vectors of queries and documents, and the index beside them."""
    pool = facts.num_documents if params["candidates"] == "all" else facts.num_candidates
    queries = facts.num_held_out
    if plan_of(params).most:
        pool, queries = max(pool, facts.num_documents), max(queries, num_train)
    return float(FLOAT * params["dim"] * (2 * pool + queries))


def _num_tokens(facts: Facts, params: Mapping[str, Any], queries: int, documents: int) -> float:
    """Tokens that an encoder reads of so many queries and documents."""
    return queries * tokens_of(facts.mean_query_characters, params) + documents * tokens_of(
        facts.mean_document_characters, params
    )


def _step_flop(facts: Facts, params: Mapping[str, Any], batch: int) -> float:
    """Multiplications and additions of forward and backward passes of one optimizer step."""
    documents = _num_candidates(params, batch)
    dim, hidden = params["dim"], params["hidden_dim"]
    scores = 2.0 * batch * (documents + min(params["memory_bank"], facts.num_documents)) * dim
    if facts.encoder is not None:
        weights = 2.0 * (facts.encoder.weights - facts.encoder.table)
        tokens = _num_tokens(facts, params, batch, documents)
        forward = scores + (0.0 if params["encoder"] == "frozen" else weights * tokens)
    elif facts.query_shape is None:
        rows = batch * facts.query_features + documents * facts.document_features
        reading = READING * rows * dim
        forward = 4.0 * (batch + documents) * dim * hidden + reading + scores
    else:
        length, width = facts.query_shape
        times = length if params["query_tower"] == "gru" else 1
        query = 2.0 * _tower_weights(params["query_tower"], width, params) * times * batch
        document = 2.0 * _tower_weights(params["document_tower"], facts.document_dim or 0, params) * documents
        forward = query + document + scores
    return float(3.0 * batches_per_step(params) * forward)
