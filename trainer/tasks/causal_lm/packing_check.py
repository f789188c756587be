"""What no token may see in the model at hand, tried before training: what comes later, and its neighbours."""

from __future__ import annotations

import numpy as np
import torch

from trainer.datasets.records import DatasetError
from trainer.language.sources import ModelError
from trainer.tasks.causal_lm.batches import collate
from trainer.tasks.causal_lm.material import Material, Sequence
from trainer.tasks.causal_lm.model import LanguageModel

_LOOKED_AT = 64
_ROUNDING = 1e-4  # of the largest logit: shapes are the same, so what is not seen changes nothing at all
_REMEDY = "set packing to false"
_TOLERANCE = 0.03  # of the largest logit: far above rounding in bf16, far below what a seen neighbour does


def check_packing(model: LanguageModel, material: Material) -> None:
    """Compare the logits of two examples packed into one row with those of each alone.

    Raises:
        DatasetError: they differ, or the model keeps a state that runs through all of a row.
    """
    if model.is_stateful:
        raise DatasetError(f"this kind of model keeps a state from one packed example to the next; {_REMEDY}")
    by_length = sorted(
        (material.sequences[number] for number in material.train.tolist()), key=lambda one: len(one.ids)
    )
    middle = len(by_length) // 2
    pair = [by_length[middle], by_length[max(0, middle - 1)]]
    packed = _logits(model, [pair], is_packed=True)
    alone = torch.cat([_logits(model, [[one]], is_packed=False) for one in pair])
    largest = float(alone.abs().max().clamp(min=1e-6))
    if float((packed - alone).abs().max()) > _TOLERANCE * largest:
        raise DatasetError(f"this kind of model lets packed examples see each other; {_REMEDY}")


def check_order(model: LanguageModel, material: Material) -> None:
    """Compare the logits at the beginning of an example with those before another ending of the same length.

    Raises:
        ModelError: tokens see what comes after them, so the model would copy and learn nothing.
    """
    ids = max((material.sequences[number].ids for number in material.train.tolist()), key=len)[:_LOOKED_AT]
    half = max(1, len(ids) // 2)
    other = np.concatenate([ids[:half], np.full(len(ids) - half, ids[0], dtype=np.int64)])
    if np.array_equal(ids, other):
        other[half:] = (ids[0] + 1) % model.vocab_size
    learned = np.ones(len(ids), dtype=np.bool_)
    first, second = (
        _logits(model, [[Sequence(one, learned)]], is_packed=False)[:half] for one in (ids, other)
    )
    if float((first - second).abs().max()) > _ROUNDING * float(first.abs().max().clamp(min=1e-6)):
        raise ModelError(
            "the tokens of this model see what comes after them, so it would copy instead of learning to "
            "write; choose a model that is a decoder, such as a Llama, Qwen or GPT-2"
        )


@torch.no_grad()
def _logits(model: LanguageModel, rows: list[list[Sequence]], *, is_packed: bool) -> torch.Tensor:
    was_training = model.model.training
    model.model.eval()
    try:
        return model.logits(collate(rows, pad_id=0, is_packed=is_packed))
    finally:
        model.model.train(was_training)
