"""What a recipe foresees of a run, in the terms the general checks understand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trainer.environment.doctor.check import Check

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Pace:
    """What a smoke run has measured; seconds.

    Attributes:
        load_s: from the start of the process to the first step, without evaluation and snapshot.
        step_s: one optimizer step, the median.
        evaluate_s: one evaluation.
        save_s: one checkpoint.
    """

    load_s: float
    step_s: float
    evaluate_s: float
    save_s: float


@dataclass(frozen=True)
class Outlook:
    """How the run would go, were nothing to happen to it.

    Attributes:
        num_examples: in the dataset; ``num_train`` of them are trained on, ``num_held_out`` evaluated on.
        is_estimated: the dataset was not read whole, so its counts are about right only.
        batch_size: examples per micro-batch, as asked for.
        accumulate: micro-batches per optimizer step.
        steps_per_epoch: optimizer steps of one pass; 0 when there is not one whole batch.
        total_steps: of the whole run.
        warmup_steps: steps until the learning rate has its value.
        eval_every: steps between evaluations; ``checkpoint_every`` likewise.
        keep_checkpoints: how many stay, beside the best.
        is_recurrent: a GRU or LSTM is trained.
        checkpoint_bytes: of one checkpoint file.
        snapshots_bytes: of all snapshots together.
        memory_bytes: the trainer's largest resident memory.
        device_bytes: weights, moments and activations, which are on the GPU where there is one.
        step_flop: floating-point operations of one step; 0 when nobody can say.
        keeps_rest: the last batch of an epoch may be short; otherwise what does not fill one is left out.
        pace: measured by a smoke run; None before one. It makes the byte counts measured ones, too.
    """

    num_examples: int
    num_train: int
    num_held_out: int
    is_estimated: bool
    batch_size: int
    accumulate: int
    steps_per_epoch: int
    total_steps: int
    warmup_steps: int
    eval_every: int
    checkpoint_every: int
    keep_checkpoints: int
    is_recurrent: bool
    checkpoint_bytes: int
    snapshots_bytes: int
    memory_bytes: int
    device_bytes: int
    step_flop: float = 0.0
    keeps_rest: bool = False
    pace: Pace | None = None

    def to_json(self) -> dict[str, Any]:
        """The shape sent between processes and printed."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Outlook:
        """What :meth:`to_json` has written."""
        pace = fields["pace"]
        return cls(**{**fields, "pace": None if pace is None else Pace(**pace)})


@dataclass(frozen=True)
class Examples:
    """The examples of both sides of the split, for comparing them.

    Attributes:
        ids: one per example.
        inputs: what the model is given, as text or as a digest; ``outputs`` is what it should answer.
        train: rows trained on; ``held_out`` likewise.
        words: what an input and an output are called, for people.
        answers: texts of which an added probe must expect one; without any it may expect what it likes, and
            with None there can be no added probes.
    """

    ids: Sequence[str]
    inputs: Sequence[str]
    outputs: Sequence[str]
    train: NDArray[np.int64]
    held_out: NDArray[np.int64]
    words: tuple[str, str] = ("input", "output")
    answers: Sequence[Sequence[str]] | None = ()


@dataclass(frozen=True)
class Survey:
    """What a recipe has found out about its dataset.

    Attributes:
        checks: what there is to say about the dataset itself.
        outlook: None when the dataset cannot be used.
        examples: None when they were not read; the first ones when the outlook is estimated.
    """

    checks: tuple[Check, ...]
    outlook: Outlook | None = None
    examples: Examples | None = None
