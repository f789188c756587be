"""Micro-batches: sequences of like length padded to the longest, or packed into rows of one length.

The order depends on seed and epoch alone, and any batch can be reached at once.

Shape suffixes: S sequences, B rows of a batch, T positions.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from collections.abc import Sequence as Row
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainer.datasets.splitting import Ints
from trainer.tasks.causal_lm.material import Sequence

_ORDER, _PACKING = 7, 8  # streams of random numbers
_POOL_BATCHES = 32  # sorting by length within so many batches leaves little padding


@dataclass(frozen=True)
class Batch:
    """What goes through the model at once.

    Attributes:
        ids_BT: token ids, int64.
        mask_BT: 1 for tokens, 0 for padding; None when packed, where positions tell sequences apart.
        position_BT: of each token in its own sequence.
        predicts_BT: whether the token after this one is learned.
        targets: those tokens, in the order of the positions that predict them.
        num_examples: sequences.
        num_tokens: without padding.
    """

    ids_BT: Tensor
    mask_BT: Tensor | None
    position_BT: Tensor
    predicts_BT: Tensor
    targets: Tensor
    num_examples: int
    num_tokens: int

    @property
    def padding_share(self) -> float:
        """Share of the positions that hold nothing."""
        return 1.0 - self.num_tokens / self.ids_BT.numel()


def collate(rows: Row[Row[Sequence]], *, pad_id: int, is_packed: bool, length: int = 0) -> Batch:
    """A batch of rows, each of one sequence or, packed, of several one after the other.

    ``length`` 0 pads to the longest row.
    """
    width = length or max(sum(len(one.ids) for one in row) for row in rows)
    ids = np.full((len(rows), width), pad_id, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    positions = np.zeros((len(rows), width), dtype=np.int64)
    predicts = np.zeros((len(rows), width), dtype=np.bool_)
    for number, row in enumerate(rows):
        start = 0
        for one in row:
            end = start + len(one.ids)
            ids[number, start:end] = one.ids
            mask[number, start:end] = 1
            positions[number, start:end] = np.arange(len(one.ids))
            predicts[number, start : end - 1] = one.learned[1:]
            start = end
    following = np.roll(ids, -1, axis=1)
    return Batch(
        torch.from_numpy(ids),
        None if is_packed else torch.from_numpy(mask),
        torch.from_numpy(positions),
        torch.from_numpy(predicts),
        torch.from_numpy(following[predicts]),
        sum(len(row) for row in rows),
        int(mask.sum()),
    )


class Batches:
    """All batches of every epoch."""

    def __init__(
        self,
        sequences: list[Sequence],
        chosen: Ints,
        *,
        batch_size: int,
        seed: int,
        pad_id: int,
        pack_length: int = 0,
    ) -> None:
        """Prepare.

        Args:
            sequences: all there are.
            chosen: numbers of those to train on.
            batch_size: rows of a batch.
            seed: another seed gives another order.
            pad_id: fills rows.
            pack_length: tokens of a packed row; 0 does not pack.
        """
        self._sequences, self._batch_size, self._seed = sequences, batch_size, seed
        self._pad_id, self._pack_length = pad_id, pack_length
        if pack_length:
            self._rows = _packed(sequences, chosen, length=pack_length, seed=seed)
        else:
            self._rows = [[number] for number in chosen.tolist()]
        self._lengths = np.array([sum(len(sequences[one].ids) for one in row) for row in self._rows])

    @property
    def num_rows(self) -> int:
        """Rows of an epoch; without packing these are the sequences."""
        return len(self._rows)

    @property
    def num_batches(self) -> int:
        """Batches of an epoch; the last of them may be smaller."""
        return -(-len(self._rows) // self._batch_size)

    def batches(self, epoch: int, *, start: int, every: int = 1) -> Iterator[Batch]:
        """Those of ``epoch`` from number ``start`` on; with ``every`` 2 each second of them."""
        for rows in self._order(epoch)[start::every]:
            chosen = [[self._sequences[one] for one in self._rows[row]] for row in rows.tolist()]
            yield collate(
                chosen, pad_id=self._pad_id, is_packed=self._pack_length > 0, length=self._pack_length
            )

    def _order(self, epoch: int) -> list[Ints]:
        """The rows of each batch: shuffled, then sorted by length within pools of some batches."""
        rng = np.random.default_rng([self._seed, _ORDER, epoch])
        order = rng.permutation(len(self._rows))
        size = self._batch_size
        if self._pack_length:
            return [order[first : first + size] for first in range(0, len(order), size)]
        batches = []
        for first in range(0, len(order), size * _POOL_BATCHES):
            pool = order[first : first + size * _POOL_BATCHES]
            pool = pool[np.argsort(self._lengths[pool], kind="stable")]
            batches += [pool[low : low + size] for low in range(0, len(pool), size)]
        return [batches[number] for number in rng.permutation(len(batches)).tolist()]


def _packed(sequences: list[Sequence], chosen: Ints, *, length: int, seed: int) -> list[list[int]]:
    """Rows of at most ``length`` tokens: each sequence goes where it leaves the least room, longest first.

    Which sequences share a row depends on the seed; they do not see each other, so it hardly matters.
    """
    shuffled = np.random.default_rng([seed, _PACKING]).permutation(chosen)
    lengths = np.array([len(sequences[number].ids) for number in shuffled.tolist()])
    rows: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # (room left, row), ascending
    for place in np.argsort(-lengths, kind="stable").tolist():
        number, needed = int(shuffled[place]), int(lengths[place])
        found = bisect_left(rooms, (needed, -1))
        if found == len(rooms):
            rows.append([number])
            room, row = length - needed, len(rows) - 1
        else:
            room, row = rooms.pop(found)
            rows[row].append(number)
            room -= needed
        if room > 1:
            insort(rooms, (room, row))
    return rows
