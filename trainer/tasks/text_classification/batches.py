"""Batches of texts of about the same length, padded to their longest.

Which texts make a batch is a function of (seed, epoch) alone, so an
interrupted epoch goes on exactly where it stopped.

Shape suffixes: B texts of a batch, T tokens of the longest of them, N texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainer.language.token_cache import TokenRows

Ints = NDArray[np.int64]
_ORDER: Final = 1
_WINDOW: Final = 50  # batches among whose texts those of one length are looked for


@dataclass(frozen=True)
class Batch:
    """One micro-batch: token ids (B, T), a mask (B, T) that is 0 where a text is padded, labels (B,)."""

    ids: Tensor
    mask: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def num_tokens(self) -> int:
        """Tokens that are read, padding not counted."""
        return int(self.mask.sum())

    def part(self, start: int, stop: int) -> Batch:
        """Some of its texts, without the padding that only others needed."""
        mask = self.mask[start:stop]
        width = int(mask.sum(dim=1).max())
        return Batch(self.ids[start:stop, :width], mask[:, :width], self.labels[start:stop])

    def to(self, device: torch.device) -> Batch:
        """The same on ``device``."""
        return Batch(*(tensor.to(device) for tensor in (self.ids, self.mask, self.labels)))


class Cutter:
    """The tokens of texts, cut to a length; a closing special token stays at the end."""

    def __init__(
        self, tokens: TokenRows, *, max_length: int, closing_ids: frozenset[int], padding_id: int
    ) -> None:
        self._tokens, self._max_length, self._padding_id = tokens, max_length, padding_id
        self._closing_ids = closing_ids
        self.lengths_N = np.minimum(np.maximum(tokens.lengths_N, 1), max_length)
        self.num_cut = int((tokens.lengths_N > max_length).sum())

    def batch(self, rows: Ints, labels: Ints) -> Batch:
        """The texts ``rows`` with their labels; nothing is cut that fits."""
        width = int(self.lengths_N[rows].max())
        ids = np.full((len(rows), width), self._padding_id, dtype=np.int64)
        mask = np.zeros((len(rows), width), dtype=np.int64)
        for place, row in enumerate(rows.tolist()):
            whole = self._tokens.ids(row)
            kept = whole[: self._max_length]
            ids[place, : len(kept)] = kept
            if len(kept) < len(whole) and int(whole[-1]) in self._closing_ids:
                ids[place, len(kept) - 1] = whole[-1]
            mask[place, : max(1, len(kept))] = 1
        return Batch(torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(labels))


def batches_of_epoch(lengths: Ints, *, batch_size: int, seed: int, epoch: int) -> list[Ints]:
    """Places 0..N-1 cut into batches of about one length each, in a random order; the last may be short.

    Args:
        lengths: tokens of each text, shape (N,).
    """
    generator = np.random.default_rng([seed, _ORDER, epoch])
    order = generator.permutation(len(lengths))
    window = batch_size * _WINDOW
    pieces = [order[start : start + window] for start in range(0, len(order), window)]
    by_length = np.concatenate([piece[np.argsort(lengths[piece], kind="stable")] for piece in pieces])
    whole = len(by_length) // batch_size
    cut = [by_length[number * batch_size : (number + 1) * batch_size] for number in range(whole)]
    cut = [cut[number] for number in generator.permutation(whole)]
    rest = by_length[whole * batch_size :]
    return [*cut, rest] if len(rest) else cut


def in_order_of_length(rows: Ints, lengths_N: Ints, *, batch_size: int) -> Iterator[Ints]:
    """Places among ``rows`` in batches that need little padding, longest first, for asking the model."""
    order = np.argsort(-lengths_N[rows], kind="stable")
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]
