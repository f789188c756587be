"""Greedy completion of many prompts at once, with a cache, bounded, and without any setting of a model's own.

A model that keeps a state of its own in place of a cache reads all again for every token: slower, not wrong.

Shape suffixes: B prompts, T tokens of the longest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Step = Callable[..., Any]  # a model called with input_ids, attention_mask, position_ids, past_key_values, …
Pick = Callable[[Tensor], Tensor]  # from the logits (B, V) of the next tokens to the tokens (B,)


@dataclass(frozen=True)
class Completion:
    """The tokens that followed a prompt, without the end token; ``has_ended`` says whether it came."""

    ids: list[int]
    has_ended: bool


def greedy(logits_BV: Tensor) -> Tensor:
    """The most probable tokens."""
    return logits_BV.argmax(dim=-1)


@torch.no_grad()
def complete(
    step: Step,
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int,
    max_length: int,
    end_ids: Sequence[int],
    pad_id: int,
    device: torch.device,
    pick: Pick = greedy,
) -> list[Completion]:
    """Complete each prompt until an end token, ``max_new_tokens``, or the model's length.

    Args:
        step: one step of a causal language model in evaluation mode.
        prompts: token ids; a prompt that leaves no room is cut at its beginning.
        max_new_tokens: tokens to add at most.
        max_length: positions the model has.
        end_ids: tokens that end a completion.
        pad_id: fills shorter prompts on the left.
        device: where the model is.
        pick: chooses the next tokens.
    """
    room = max(1, min(max_new_tokens, max_length - 1))
    cut = [list(prompt)[-(max_length - room) :] or [pad_id] for prompt in prompts]
    ids_BT, mask_BT = _padded_left(cut, pad_id, device)
    ends = torch.tensor(sorted(set(end_ids)), device=device)
    has_ended_B = torch.zeros(len(cut), dtype=torch.bool, device=device)
    chosen: list[Tensor] = []
    past: Any = None
    for _ in range(room):
        position_BT = (mask_BT.cumsum(-1) - 1).clamp(min=0)[:, -ids_BT.shape[1] :]
        seen = {"input_ids": ids_BT, "attention_mask": mask_BT, "position_ids": position_BT}
        output = step(**seen, past_key_values=past, use_cache=True, logits_to_keep=1)
        past = getattr(output, "past_key_values", None)
        next_B = pick(output.logits[:, -1].float())
        next_B = torch.where(has_ended_B, torch.full_like(next_B, pad_id), next_B)
        chosen.append(torch.where(has_ended_B, torch.full_like(next_B, -1), next_B))
        has_ended_B = has_ended_B | torch.isin(next_B, ends)
        if bool(has_ended_B.all()):
            break
        newest_BT = next_B[:, None]
        ids_BT = torch.cat([ids_BT, newest_BT], dim=1) if past is None else newest_BT
        mask_BT = torch.cat([mask_BT, torch.ones_like(next_B)[:, None]], dim=1)
    return _completions(torch.stack(chosen, dim=1).tolist(), set(end_ids))


def _padded_left(
    prompts: Sequence[Sequence[int]], pad_id: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    longest = max(map(len, prompts))
    ids_BT = torch.full((len(prompts), longest), pad_id, dtype=torch.int64)
    mask_BT = torch.zeros_like(ids_BT)
    for row, prompt in enumerate(prompts):
        ids_BT[row, longest - len(prompt) :] = torch.tensor(prompt)
        mask_BT[row, longest - len(prompt) :] = 1
    return ids_BT.to(device), mask_BT.to(device)


def _completions(rows: list[list[int]], ends: set[int]) -> list[Completion]:
    found = []
    for row in rows:
        kept: list[int] = []
        has_ended = False
        for token in row:
            if token in ends or token < 0:
                has_ended = True
                break
            kept.append(token)
        found.append(Completion(kept, has_ended))
    return found
