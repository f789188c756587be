"""Sums over all ranks: gradients in few large pieces, losses and counts in one small one.

Numbers that decide anything are exchanged over gloo, in memory of the host;
gradients on a GPU over NCCL. Afterwards every rank holds the same bits.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainer.engine.gradients import UpdateSums
from trainer.engine.place import PeerLost

_BUCKET_BYTES: Final = 32 * 1024 * 1024
_DENSE, _SPARSE = 1.0, 1024.0  # more than there are ranks: a sum of both tells how many have which
_FIGURES: Final = 5
Values = dict[str, float]


@contextmanager
def together() -> Iterator[None]:
    """What all ranks do at once; it fails on this one when another is gone.

    Raises:
        PeerLost: it has failed.
    """
    try:
        yield
    except RuntimeError as exc:
        raise PeerLost(str(exc).splitlines()[0] if str(exc) else type(exc).__name__) from exc


def sum_of(values: Sequence[float]) -> list[float]:
    """Each value summed over the ranks."""
    tensor = torch.tensor(values, dtype=torch.float64)
    with together():
        dist.all_reduce(tensor)
    summed: list[float] = tensor.tolist()
    return summed


def gathered(values: Sequence[int]) -> list[list[int]]:
    """The values of every rank, as many from each."""
    mine = torch.tensor(values, dtype=torch.int64)
    theirs = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    with together():
        dist.all_gather(theirs, mine)
    return [one.tolist() for one in theirs]


def from_first(content: bytes | None, *, num_bytes: int) -> bytes:
    """The bytes that rank 0 gives; the others give None."""
    room = torch.empty(num_bytes, dtype=torch.uint8)
    if content is not None:
        room = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    with together():
        dist.broadcast(room, src=0)
    return room.numpy().tobytes()


def packed(value: Any) -> bytes:
    """Tensors and plain types as bytes."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def unpacked(content: bytes) -> Any:
    """Inverse of :func:`packed`; runs no code from it."""
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)


class Exchange:
    """Sums the updates of one training over all ranks."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = parameters
        self._names: list[str] = []  # of extra figures, the same on all ranks

    def sum_update(self, mine: UpdateSums) -> UpdateSums:
        """Put the sums of all ranks into the parameters' gradients, and return those of losses and counts."""
        kinds, sums = self._sum_figures(mine)
        dense, sparse = [], []
        for parameter, kind in zip(self._parameters, kinds, strict=True):
            if kind >= _SPARSE:
                sparse.append(parameter)
            elif kind:
                dense.append(parameter)
        device = self._parameters[0].device
        loss = torch.zeros((), device=device) if mine.loss is None else mine.loss.float().reshape(())
        _sum_in_place([*(_dense_gradient(parameter) for parameter in dense), loss])
        for parameter in sparse:
            parameter.grad = _sparse_sum(parameter)
        sums.loss = loss
        return sums

    def _sum_figures(self, mine: UpdateSums) -> tuple[list[float], UpdateSums]:
        """Which parameters have gradients anywhere, and the sums of all that is a plain number."""
        kinds = [_kind(parameter) for parameter in self._parameters]
        while True:
            strangers = float(any(name not in self._names for name in mine.extra))
            figures = [strangers, mine.share, mine.chance_loss, mine.num_examples, mine.num_tokens]
            extra = [mine.extra.get(name, 0.0) for name in self._names]
            summed = sum_of([*figures, *extra, *kinds])
            if not summed[0]:
                break
            self._agree_on_names(mine)
        _, share, chance, num_examples, num_tokens = summed[:_FIGURES]
        of_extra = summed[_FIGURES : _FIGURES + len(self._names)]
        sums = UpdateSums(
            None,
            share,
            chance,
            int(num_examples),
            int(num_tokens),
            dict(zip(self._names, of_extra, strict=True)),
        )
        return summed[_FIGURES + len(self._names) :], sums

    def _agree_on_names(self, mine: UpdateSums) -> None:
        found: list[Any] = [None] * dist.get_world_size()
        with together():
            dist.all_gather_object(found, sorted(mine.extra))
        self._names = sorted(set(self._names).union(*found))


def _kind(parameter: nn.Parameter) -> float:
    if parameter.grad is None:
        return 0.0
    return _SPARSE if parameter.grad.is_sparse else _DENSE


def _dense_gradient(parameter: nn.Parameter) -> Tensor:
    """The gradient; zeros on a rank whose micro-batches did not touch the parameter."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def _sum_in_place(tensors: Sequence[Tensor]) -> None:
    """Sum each tensor over the ranks, many of them at once."""
    for bucket in _buckets(tensors):
        flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
        with together():
            dist.all_reduce(flat)
        parts = torch.split(flat, [tensor.numel() for tensor in bucket])
        torch._foreach_copy_(bucket, [part.view_as(one) for part, one in zip(parts, bucket, strict=True)])


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """The tensors in their order, those of one type together, as many as fit the size."""
    by_type: dict[torch.dtype, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        by_type[tensor.dtype].append(tensor)
    for same in by_type.values():
        bucket: list[Tensor] = []
        num_bytes = 0
        for tensor in same:
            if bucket and num_bytes + tensor.nbytes > _BUCKET_BYTES:
                yield bucket
                bucket, num_bytes = [], 0
            bucket.append(tensor)
            num_bytes += tensor.nbytes
        yield bucket


def _sparse_sum(parameter: nn.Parameter) -> Tensor:
    """The sparse gradient summed over the ranks: what each has is gathered, in the order of the ranks."""
    grad = parameter.grad
    if grad is None:
        rows, values = (
            torch.empty(1, 0, dtype=torch.int64, device=parameter.device),
            parameter.new_empty((0, *parameter.shape[1:])),
        )
    else:
        grad = grad.coalesce()
        rows, values = grad._indices(), grad._values()
    counts = [count for (count,) in gathered([rows.shape[1]])]
    all_rows = _gathered_rows(rows.reshape(-1), counts)
    all_values = _gathered_rows(values, counts)
    return torch.sparse_coo_tensor(
        all_rows[None, :], all_values, parameter.shape, check_invariants=False
    ).coalesce()


def _gathered_rows(mine: Tensor, counts: Sequence[int]) -> Tensor:
    """The rows of all ranks, one rank after the other; they are sent padded to the longest."""
    padded = mine.new_zeros((max(counts), *mine.shape[1:]))
    padded[: len(mine)] = mine
    theirs = [torch.empty_like(padded) for _ in counts]
    with together():
        dist.all_gather(theirs, padded)
    return torch.cat([one[:count] for one, count in zip(theirs, counts, strict=True)])
