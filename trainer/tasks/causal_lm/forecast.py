"""What a language model run will need, reckoned from its parameters and the size of its dataset.

The same arithmetic as the model, the optimizer and the loop, without any of
them: loads no training library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer.engine.schedule import next_due_after
from trainer.language.sources import ModelSource, num_weights, read_config
from trainer.preflight.outlook import Outlook
from trainer.recipes.ranks import batches_per_step

FLOAT: Final = 4
MIB: Final = 1024 * 1024
LIBRARIES_BYTES: Final = 620 * MIB  # interpreter, torch and transformers, loaded and warm
TEXT_COPIES: Final = 4.0  # of the texts at once, while they are read, written out and tokenised
ACTIVATIONS: Final = 34.0  # numbers per token, layer and unit of width that are kept for the way back
LOGIT_COPIES: Final = 4.0
OUTPUT_BYTES: Final = 1200  # of one answered probe in a snapshot, compressed
MOST_SNAPSHOTS: Final = 500
LORA_SHARE: Final = 0.0006  # of a model's weights per rank, with all linear layers


@dataclass(frozen=True)
class Facts:
    """What is known of the dataset, in examples, tokens and characters.

    Attributes:
        mean_tokens: of an example, after cutting; ``mean_learned`` of them are learned.
        characters: of all examples together.
        is_text: long examples go on in further ones instead of being cut.
    """

    num_examples: int
    num_train: int
    num_held_out: int
    mean_tokens: float
    mean_learned: float
    characters: float
    is_text: bool = False
    is_estimated: bool = False


@dataclass(frozen=True)
class Shape:
    """The model's numbers: ``trained`` of its ``weights``."""

    weights: int
    trained: int
    layers: int
    width: int
    vocabulary: int


def shape_of(params: Mapping[str, Any], source: ModelSource) -> Shape | None:
    """The model's numbers; None when it is not here yet."""
    if source.kind == "hub" or (source.folder is None and source.kind != "scratch"):
        return None
    if source.folder is not None:
        config = read_config(source.folder)
        weights = num_weights(source.folder)
        layers = int(config.get("num_hidden_layers") or config.get("n_layer") or 1)
        width = int(config.get("hidden_size") or config.get("n_embd") or 1)
        vocabulary = int(config.get("vocab_size") or 1)
    else:
        layers, width, vocabulary = params["num_layers"], params["hidden_dim"], params["vocab_size"]
        inner = -(-int(width * 8 / 3) // 32) * 32
        weights = vocabulary * width + layers * (4 * width * width + 3 * width * inner + 2 * width) + width
    trained = int(weights * LORA_SHARE * params["lora_rank"]) if params["lora_rank"] else weights
    return Shape(weights, min(trained, weights), layers, width, vocabulary)


def foresee(facts: Facts, params: Mapping[str, Any], source: ModelSource) -> Outlook:
    """The outlook of a run with ``params``."""
    shape = shape_of(params, source)
    wanted = round(facts.num_train * params["train_fraction"])
    num_train = min(wanted, params["max_examples"] or wanted)
    rows = _rows(facts, params, num_train)
    num_batches = -(-rows // params["batch_size"])
    accumulate = batches_per_step(params)
    per_epoch = -(-num_batches // accumulate)
    total = (params["max_steps"] or per_epoch * params["num_epochs"]) if per_epoch else 0
    model_bytes = _model_bytes(shape)
    batch_bytes = _batch_bytes(facts, params, shape)
    return Outlook(
        num_examples=facts.num_examples,
        num_train=num_train,
        num_held_out=facts.num_held_out,
        is_estimated=facts.is_estimated or shape is None,
        # Packed rows are a guess, and a smaller last batch is trained on, too.
        batch_size=min(params["batch_size"], max(1, rows)) if params["packing"] else params["batch_size"],
        keeps_rest=True,
        accumulate=accumulate,
        steps_per_epoch=per_epoch,
        total_steps=total,
        warmup_steps=params["warmup_steps"],
        eval_every=params["eval_every"] or max(1, per_epoch),
        checkpoint_every=params["checkpoint_every"] or max(1, per_epoch),
        keep_checkpoints=params["keep_checkpoints"],
        is_recurrent=False,
        checkpoint_bytes=3 * FLOAT * shape.trained + 65_536 if shape else 0,
        snapshots_bytes=_num_snapshots(total) * min(params["num_probes"], facts.num_held_out) * OUTPUT_BYTES,
        memory_bytes=int(LIBRARIES_BYTES + TEXT_COPIES * facts.characters + model_bytes + batch_bytes),
        device_bytes=int(model_bytes + batch_bytes),
        step_flop=_step_flop(facts, params, shape),
    )


def _rows(facts: Facts, params: Mapping[str, Any], num_train: int) -> int:
    if params["packing"]:
        return max(1, round(num_train * facts.mean_tokens / (0.95 * float(params["max_length"]))))
    return int(num_train)


def _tokens_at_once(facts: Facts, params: Mapping[str, Any]) -> float:
    """Positions of one batch, padding included."""
    length = params["max_length"] if params["packing"] else min(params["max_length"], 1.5 * facts.mean_tokens)
    return float(params["batch_size"] * length)


def _learned_at_once(facts: Facts, params: Mapping[str, Any]) -> float:
    share = 1.0 if params["learn_prompt"] else min(1.0, facts.mean_learned / max(1.0, facts.mean_tokens))
    return _tokens_at_once(facts, params) * share


def _model_bytes(shape: Shape | None) -> float:
    """Weights, and of what is trained gradients and two moments."""
    return 0.0 if shape is None else FLOAT * (shape.weights + 3.0 * shape.trained)


def _batch_bytes(facts: Facts, params: Mapping[str, Any], shape: Shape | None) -> float:
    if shape is None:
        return 0.0
    kept = 2.0 if params["gradient_checkpointing"] else ACTIVATIONS
    inside = kept * shape.layers * shape.width * _tokens_at_once(facts, params)
    return FLOAT * (inside + LOGIT_COPIES * shape.vocabulary * _learned_at_once(facts, params))


def _step_flop(facts: Facts, params: Mapping[str, Any], shape: Shape | None) -> float:
    """Multiplications and additions of forward and backward passes of one optimizer step."""
    if shape is None:
        return 0.0
    tokens, learned = _tokens_at_once(facts, params), _learned_at_once(facts, params)
    inner = max(0, shape.weights - shape.vocabulary * shape.width)
    forward = 2.0 * (inner * tokens + shape.vocabulary * shape.width * learned)
    passes = 4.0 if params["gradient_checkpointing"] else 3.0
    return passes * forward * float(batches_per_step(params))


def _num_snapshots(total_steps: int) -> int:
    count, step = 1, 0
    while step < total_steps and count < MOST_SNAPSHOTS:
        step = next_due_after(step)
        count += 1
    return count
