"""What one line says, before it is known where in the run it belongs."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainer.telemetry.output.names import Part


@dataclass(slots=True)
class Reading:
    """Numbers of one line.

    ``values`` have their final names. ``step`` counts within the epoch or the
    run (which of the two shows only over time), ``total`` is what it counts
    to; ``epoch`` is the number as printed, ``progress_epoch`` a fractional one
    that is only shown. ``is_epoch_header`` marks a line that only announces an
    epoch, ``is_final`` a summary of the whole training. ``word`` is what the
    step was called, and ``is_here`` says that the line belongs to the newest step
    whatever comes.
    """

    values: dict[str, float] = field(default_factory=dict)
    part: Part = Part.TRAIN
    step: int | None = None
    total: int | None = None
    epoch: int | None = None
    num_epochs: int | None = None
    progress_epoch: float | None = None
    is_global_step: bool = False
    is_epoch_header: bool = False
    is_final: bool = False
    is_here: bool = False
    word: str = ""

    @property
    def has_place(self) -> bool:
        """Whether the line itself says where in the run it belongs."""
        return self.step is not None or self.epoch is not None


def count(text: str | None) -> int | None:
    """A whole number that a series can have as its step; None where it is none."""
    if text is None or len(text) > 15 or not text.isdigit():
        return None
    return int(text)
