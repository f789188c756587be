"""The gradients of a whole batch with the memory of a part of it.

The contrastive loss compares every query with every document of the batch, so
it is no sum over parts.  But it sees vectors only: embed all parts without
keeping anything, take the loss of all vectors and its gradient by each vector,
then embed every part once more and pass its vectors' gradients back.  The loss
and the gradients are those of the whole batch up to rounding, at the price of
embedding twice.

Towers must give a row the same vector both times, whichever rows it is read
with; all that is random about a row comes with the batch (see ``inputs``).

Shape suffixes: N rows, D length of the vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trainer.tasks.two_tower.inputs import Inputs


@dataclass(frozen=True)
class Side:
    """One tower with all rows it has to read; at most ``size`` of the N at once."""

    tower: nn.Module
    inputs: Inputs
    arguments: tuple[Tensor, ...]
    num_rows: int
    size: int
    to_device: Callable[[tuple[Tensor, ...]], tuple[Tensor, ...]]

    def embed(self) -> Tensor:
        """The vectors (N, D), without a graph behind them; their gradients can be asked for."""
        with torch.no_grad():
            vectors_ND = torch.cat([self._vectors(rows) for rows in self._parts()])
        return vectors_ND.requires_grad_()

    def pass_back(self, vectors_ND: Tensor) -> None:
        """Add what the gradients of :meth:`embed`'s vectors mean for the tower's parameters."""
        parameters = [parameter for parameter in self.tower.parameters() if parameter.requires_grad]
        if not parameters or vectors_ND.grad is None:
            return
        for rows in self._parts():
            self._vectors(rows).backward(vectors_ND.grad[rows])  # type: ignore[no-untyped-call]
            for parameter in parameters:  # sparse gradients pile up unless equal rows are added together
                if parameter.grad is not None and parameter.grad.is_sparse:
                    parameter.grad = parameter.grad.coalesce()

    def _parts(self) -> Iterator[slice]:
        for start in range(0, self.num_rows, self.size):
            yield slice(start, min(start + self.size, self.num_rows))

    def _vectors(self, rows: slice) -> Tensor:
        vectors: Tensor = self.tower(*self.to_device(self.inputs.part(self.arguments, rows)))
        return vectors
