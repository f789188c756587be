"""A language model asked without training it: how probable texts are, and how it goes on.

Shape suffixes: P positions that predict, V tokens of the vocabulary, D numbers of a vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Row
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainer.language.completion import Completion, complete
from trainer.tasks.causal_lm.batches import collate
from trainer.tasks.causal_lm.material import Sequence
from trainer.tasks.causal_lm.model import LanguageModel

ASKED_AT_ONCE = 32


@dataclass(frozen=True)
class TokenScores:
    """Of a sequence's learned tokens: log-probabilities in nats, and whether each was the first choice.

    ``vector_D`` is the mean of what the last layer says at the tokens before the first learned one, where
    that was asked for.
    """

    log_probabilities: NDArray[np.float64]
    is_first: NDArray[np.bool_]
    vector_D: NDArray[np.float32] | None = None


@torch.no_grad()
def token_log_probabilities(
    model: LanguageModel,
    sequences: Row[Sequence],
    *,
    at_once: int = ASKED_AT_ONCE,
    with_vectors: bool = False,
    tell: Callable[[float], None] | None = None,
) -> list[TokenScores]:
    """The scores of every sequence; those of like length are asked together.

    Args:
        model: in evaluation mode.
        sequences: each with at least one learned token after its first.
        at_once: sequences per batch.
        with_vectors: also keep a vector of what comes before the learned tokens.
        tell: hears the fraction done.
    """
    found: dict[int, TokenScores] = {}
    for numbers in _by_length(sequences, at_once):
        batch = collate([[sequences[number]] for number in numbers], pad_id=0, is_packed=False)
        watching: AbstractContextManager[list[Tensor]] = (
            model.watching_states() if with_vectors else nullcontext([])
        )
        with watching as states:
            logits_PV = model.logits(batch)
        targets = batch.targets.to(logits_PV.device)
        scores = torch.log_softmax(logits_PV, dim=-1).gather(1, targets[:, None])[:, 0]
        first = logits_PV.argmax(dim=-1) == targets
        bounds = np.cumsum([sequences[number].num_learned for number in numbers])[:-1]
        parts = zip(
            numbers,
            np.split(scores.double().cpu().numpy(), bounds),
            np.split(first.cpu().numpy(), bounds),
            _means([sequences[number] for number in numbers], states),
            strict=True,
        )
        found.update({number: TokenScores(values, hits, mean) for number, values, hits, mean in parts})
        if tell is not None:
            tell(len(found) / len(sequences))
    return [found[number] for number in range(len(sequences))]


def completions(
    model: LanguageModel, prompts: Row[Row[int]], *, max_new_tokens: int, at_once: int = ASKED_AT_ONCE
) -> list[Completion]:
    """The greedy completion of every prompt."""
    written: list[Completion] = []
    for first in range(0, len(prompts), at_once):
        written += complete(
            model.step,
            prompts[first : first + at_once],
            max_new_tokens=max_new_tokens,
            max_length=model.max_length,
            end_ids=model.end_ids,
            pad_id=int(model.tokenizer.pad_token_id or 0),
            device=model.device,
        )
    return written


def _means(rows: Row[Sequence], states: Row[Tensor]) -> list[NDArray[np.float32] | None]:
    """The mean state of each row before its first learned token; a causal model sees no further there."""
    if not states:
        return [None] * len(rows)
    ends = [max(1, int(np.argmax(row.learned))) for row in rows]
    return [
        state[:end].float().mean(dim=0).cpu().numpy() for state, end in zip(states[-1], ends, strict=True)
    ]


def perplexity(loss: float) -> float:
    """e to the loss; infinite where that has no number."""
    return math.exp(loss) if loss < 700 else math.inf


def _by_length(sequences: Row[Sequence], at_once: int) -> Iterator[list[int]]:
    order = sorted(range(len(sequences)), key=lambda number: len(sequences[number].ids))
    for first in range(0, len(order), at_once):
        yield order[first : first + at_once]
