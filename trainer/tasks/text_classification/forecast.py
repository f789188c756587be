"""What a text classification run will need, reckoned from its parameters and the size of its dataset.

Loads no training library.  Weights and checkpoints are counted, memory rests
on measured constants and the arrays that are alive at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer.engine.schedule import next_due_after
from trainer.preflight.outlook import Outlook
from trainer.recipes.ranks import batches_per_step

FLOAT: Final = 4
MIB: Final = 1024 * 1024
LIBRARIES_BYTES: Final = 620 * MIB  # interpreter, torch and transformers, loaded and warm
CHARACTERS_PER_TOKEN: Final = 4.0
OBJECT_BYTES: Final = 600  # of a text with its tokens, beside its characters
STATES_PER_LAYER: Final = 34  # numbers kept of every token and unit of width for going back
OUTPUT_BYTES: Final = 350  # of one answered probe in a snapshot, compressed
MOST_SNAPSHOTS: Final = 500


@dataclass(frozen=True)
class Facts:
    """What is known of the dataset and the model.

    Attributes:
        num_labels: distinct labels.
        mean_characters: of a text.
        width: of the model's layers; ``num_layers`` and ``num_heads`` likewise.
        num_weights: all numbers of the model; ``num_embeddings`` of them are looked up, not multiplied.
    """

    num_texts: int
    num_train: int
    num_held_out: int
    num_labels: int
    mean_characters: float
    num_layers: int
    width: int
    num_heads: int
    num_weights: int
    num_embeddings: int
    is_estimated: bool = False


def scratch_weights(params: Mapping[str, Any], num_labels: int) -> tuple[int, int]:
    """All weights of a model from scratch, and those of its embeddings."""
    width, layers = params["hidden_dim"], params["num_layers"]
    embeddings = params["vocab_size"] * width
    layer = 10 * width * width + 2 * width
    head = width * width + width + width * num_labels + num_labels
    return embeddings + width + layers * layer + head, embeddings


def foresee(facts: Facts, params: Mapping[str, Any]) -> Outlook:
    """The outlook of a run with ``params``."""
    batch = min(params["batch_size"], max(1, facts.num_train))
    num_batches = -(-facts.num_train // batch) if facts.num_train else 0
    accumulate = batches_per_step(params)
    per_epoch = -(-num_batches // accumulate)
    total = (params["max_steps"] or per_epoch * params["num_epochs"]) if per_epoch else 0
    trained = _trained_weights(facts, params)
    at_once = min(params["micro_batch_size"] or batch, batch)
    tokens = min(params["max_length"], facts.mean_characters / CHARACTERS_PER_TOKEN + 2)
    # Batches hold texts of one length, so the largest is all of the longest ones.
    activations = _activation_bytes(facts, params, at_once=at_once, length=params["max_length"])
    weights_bytes = FLOAT * (facts.num_weights + 3 * trained)
    texts_bytes = int(facts.num_texts * (2 * facts.mean_characters + OBJECT_BYTES))
    return Outlook(
        num_examples=facts.num_texts,
        num_train=facts.num_train,
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
        is_recurrent=False,
        checkpoint_bytes=FLOAT * (facts.num_weights + 2 * trained),
        snapshots_bytes=_num_snapshots(total) * min(params["num_probes"], facts.num_held_out) * OUTPUT_BYTES,
        memory_bytes=LIBRARIES_BYTES + weights_bytes + activations + texts_bytes,
        device_bytes=weights_bytes + activations,
        step_flop=6.0 * (facts.num_weights - facts.num_embeddings) * batch * accumulate * tokens,
        keeps_rest=True,
    )


def _trained_weights(facts: Facts, params: Mapping[str, Any]) -> int:
    if not params["lora_rank"]:
        return facts.num_weights
    # Two projections of each layer, a pair of matrices beside each, and the head.
    rank: int = params["lora_rank"]
    return facts.num_layers * 4 * rank * facts.width + facts.width * (facts.width + 1)


def _activation_bytes(facts: Facts, params: Mapping[str, Any], *, at_once: int, length: int) -> int:
    kept_layers = 2 if params["gradient_checkpointing"] else max(1, facts.num_layers)
    states = STATES_PER_LAYER * length * facts.width
    attention = facts.num_heads * length * length
    return int(FLOAT * at_once * kept_layers * (states + attention))


def _num_snapshots(total_steps: int) -> int:
    due, count = 0, 1
    while (due := next_due_after(due)) < total_steps and count < MOST_SNAPSHOTS:
        count += 1
    return count + 1
