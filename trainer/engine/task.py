"""What a task promises the engine: the whole border between a model and the training loop.

The engine owns the loop, the schedule, checkpoints, snapshots and reports; a
task owns its model, its batches, its loss and its probes. Everything a task
does must be deterministic in (seed, epoch, torch's and numpy's generators):
the engine stores and restores these, and a resumed run repeats the losses bit
for bit on CPU.

``tell`` may raise :class:`StopRequested` when somebody asks to stop; let it
pass. While the engine asks (:meth:`Task.evaluate`, :meth:`Task.probe`) the
modules are in evaluation mode, gradients are off and the random generators are
put back afterwards.

Losses are in nats. ``step`` counts optimizer updates, a micro-batch is what
goes through the model at once; an update sums ``accumulate`` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from trainer.protocol.probe_files import AddedProbe, ProbeRowError
from trainer.protocol.run_folder import RunSpec

Tell = Callable[[str, float], None]  # (what is being done, fraction done 0..1)


@dataclass(frozen=True)
class LossOutput:
    """What one micro-batch costs.

    ``loss`` is a scalar, the mean over the micro-batch, in nats.
    ``chance_loss`` is what guessing would cost, e.g. ln(1 + negatives); NaN
    when that is undefined. ``weight`` weighs the micro-batch in the mean over
    an update; None stands for ``num_examples``. ``num_tokens`` is what the
    throughput in tokens counts, 0 when there are none. ``extra`` holds further
    scalars of this step, without the prefix ``train/``.
    """

    loss: Tensor
    chance_loss: float
    num_examples: int
    extra: dict[str, float] = field(default_factory=dict)
    weight: float | None = None
    num_tokens: int = 0

    @property
    def share(self) -> float:
        """What the micro-batch counts in the mean over an update."""
        return self.num_examples if self.weight is None else self.weight


@dataclass(frozen=True)
class ProbeAnswers:
    """How the model answers its probes now, in the order of :meth:`Task.probes`.

    ``columns`` holds one value per probe: loss, correct (0 or 1), rank, score,
    margin, …. ``outputs`` holds one object per probe, e.g.
    ``{"top": [[document_id, score], …]}``. ``documents`` maps the ids of all
    documents named to ``{"title", "text"}``; the engine sends each once per
    run. ``summary`` holds extra metrics of the task; the engine adds avg_loss,
    accuracy, total_examples, correct and incorrect. ``vectors_BD`` holds where
    the model places each probe, for the map and the neighbours; any norm will do.
    Those that are not finite, or too many, are not written down.

    Shape suffixes: B probes, D numbers of a vector.
    """

    columns: dict[str, list[float]]
    outputs: list[dict[str, Any]]
    documents: dict[str, dict[str, str]] = field(default_factory=dict)
    summary: dict[str, float] = field(default_factory=dict)
    vectors_BD: NDArray[np.floating[Any]] | None = None


class Task(Protocol):
    """A model that can be trained, asked and saved."""

    @property
    def name(self) -> str:
        """The kind of task, e.g. ``retrieval``."""

    def modules(self) -> dict[str, nn.Module]:
        """Everything with parameters, by the name it is saved under."""

    def optimizers(self) -> list[Optimizer]:
        """The optimizers, built once and always the same objects.

        The engine multiplies each parameter group's base learning rate by the
        schedule. Embeddings with sparse gradients belong to one SparseAdam.
        """

    def num_micro_batches(self, epoch: int) -> int:
        """How many micro-batches epoch ``epoch`` (from 0) has.

        Asked for any epoch at any time, so it depends on nothing but the
        dataset and the parameters.
        """

    def micro_batches(self, epoch: int, *, start: int, every: int = 1) -> Iterator[Any]:
        """The micro-batches of ``epoch`` from number ``start`` on, deterministic in (seed, epoch).

        With ``every`` 2 only each second of them, and so on. Skipping must be exact and cheap.
        """

    def loss(self, micro_batch: Any) -> LossOutput:
        """Run the model on one micro-batch, with gradients."""

    def begin_epoch(self, epoch: int, tell: Tell) -> None:
        """Prepare an epoch, e.g. mine negatives; not called when a run resumes inside the epoch."""

    def evaluate(self, tell: Tell) -> dict[str, float]:
        """Metrics on held-out examples, names without the prefix ``eval/``."""

    def probes(self) -> list[dict[str, Any]]:
        """The fixed examples: ``{"example_id", "input", "expected_output", "group", "gold"}``."""

    def probe(self) -> ProbeAnswers:
        """Ask the probes, without gradients and without touching any random generator's stream."""

    def state_dict(self) -> dict[str, Any]:
        """What exact resume needs beside the modules (mined rows, sampler); tensors and plain types only."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of :meth:`state_dict`."""


@runtime_checkable
class GoesBackItself(Protocol):
    """What a :class:`Task` has besides when its loss is no sum over examples.

    Then a micro-batch cannot be made of smaller ones to save memory, as the
    engine does by accumulating, and the task must do it in its own way.
    """

    def backward(self, micro_batch: Any, *, weighed: bool) -> LossOutput:
        """Run the model on one micro-batch, forward and backward.

        Adds to the parameters' gradients that of the mean loss, times the
        micro-batch's share (its examples, or its weight) when it is ``weighed``. The loss in the answer
        has no graph.
        """


@runtime_checkable
class ExplainsEvaluation(Protocol):
    """What a :class:`Task` has besides when no list of numbers says all that an evaluation found."""

    def evaluation_details(self) -> dict[str, Any]:
        """Details of the newest evaluation as plain JSON types; kept as a file of its own."""


@runtime_checkable
class TakesProbes(Protocol):
    """What a :class:`Task` has besides when it can be asked other examples than its own."""

    def refused_probes(self, probes: Sequence[AddedProbe]) -> list[ProbeRowError]:
        """The rows that cannot be asked, each with the reason."""

    def with_probes(self, probes: Sequence[AddedProbe]) -> Task:
        """The same model with these probes instead of its own; it shares the modules.

        Raises:
            ProbeRowError: one of them cannot be asked; names the row.
        """


@runtime_checkable
class LeavesAnExport(Protocol):
    """What a :class:`Task` has besides when its model is of use outside of this program."""

    def export(self, folder: Path, *, run: RunSpec, step: int, metrics: dict[str, float], tell: Tell) -> None:
        """Write the model as it is now into ``folder``, atomically.

        Called once, when the training has ended by itself, with the weights of
        the best step, its number and what was measured there.
        """


@dataclass(frozen=True)
class LoopConfig:
    """How long and how to train, whatever the task is.

    Counts named ``*_every`` are optimizer steps; 0 means only at the end of the
    training. ``max_steps`` above 0 decides alone and repeats epochs as needed,
    0 leaves it to ``num_epochs``. ``max_grad_norm`` 0 means no clipping.
    ``evaluates`` False means no evaluation at all; ``evaluates_first`` asks for
    one before the first step, too. ``patience`` counts evaluations without a better ``best_metric`` (a name
    without ``eval/``), 0 means never to stop early. ``snapshot_budget`` is the
    share of the run's time that snapshots may cost.
    """

    seed: int = 0
    num_epochs: int = 1
    max_steps: int = 0
    accumulate: int = 1
    max_grad_norm: float = 1.0
    warmup_steps: int = 0
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    min_lr_fraction: float = 0.0
    eval_every: int = 0
    checkpoint_every: int = 0
    keep_checkpoints: int = 2
    snapshot_budget: float = 0.05
    best_metric: str = "mrr@10"
    best_mode: Literal["max", "min"] = "max"
    patience: int = 0
    evaluates: bool = True
    evaluates_first: bool = False
