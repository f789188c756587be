"""The words a script has for its run, and the run that hears none of them.

Nothing but the standard library, and nothing a Python of some years ago does
not know: in a process without a supervisor, in whatever interpreter, these
words must be there and do nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any


class Run:
    """A run; every method may be called from any thread, returns at once and never raises.

    ``config`` holds what the script says of itself, ``summary`` the newest value of each metric.
    ``is_supervised`` says whether anybody listens.
    """

    is_supervised = False

    def __init__(self) -> None:
        self.id = ""
        self.config: dict[str, Any] = {}
        self.summary: dict[str, float] = {}
        self.step = 0

    def log(
        self,
        values: Mapping[str, Any],
        step: int | None = None,
        *,
        epoch: float | None = None,
        commit: bool = True,
    ) -> None:
        """Report numbers measured at ``step``.

        Nested names are joined by ``/``; numbers of torch and numpy are taken, anything else is left out.
        ``loss``, ``val_loss``, ``lr`` and their like get the names of this dashboard.

        Args:
            values: metrics by name.
            step: optimizer updates so far; one more than before when left out.
            commit: False leaves the step open for the next call that names none.
            epoch: how many epochs that is.
        """

    def progress(
        self,
        step: int,
        total_steps: int | None = None,
        *,
        epoch: float | None = None,
        num_epochs: int | None = None,
    ) -> None:
        """Say how far the training is."""

    def phase(self, name: str, *, detail: str | None = None, fraction: float | None = None) -> None:
        """Say what is being done: loading, training, mining, evaluating, snapshotting or saving."""

    def device(self, name: str) -> None:
        """Say where the training happens, in words."""

    def alert(self, title: str, text: str = "", level: str = "info") -> None:
        """Tell people something; ``level`` is info, warning or error."""

    def snapshot(
        self,
        step: int,
        examples: Sequence[Mapping[str, Any]],
        *,
        summary: Mapping[str, Any] | None = None,
        epoch: float = 0.0,
        vectors: Sequence[Any] | None = None,
    ) -> None:
        """Keep what the model answers to fixed examples at ``step``.

        Each example has ``input``, ``expected_output`` and ``output`` (or ``model_output``, as the API calls
        it), and what is known of ``example_id``, ``loss``, ``correct`` (0 or 1), ``group`` and further
        numbers. The same examples in the same order every time. ``vectors``, an array or rows of numbers,
        one per example, are where the model places them: the map is drawn from these.
        """

    def checkpoint(
        self,
        path: str | os.PathLike[str],
        step: int,
        *,
        metrics: Mapping[str, Any] | None = None,
        best: bool = False,
    ) -> None:
        """Announce a checkpoint the script has written; the file or folder stays the script's."""

    def should_stop(self) -> bool:
        """Whether somebody has asked the run to stop; from the first call on SIGTERM only says so."""
        return False

    def should_checkpoint(self) -> bool:
        """Whether somebody has asked for a checkpoint since the last call."""
        return False

    def should_snapshot(self) -> bool:
        """Whether somebody has asked for a snapshot since the last call."""
        return False

    def finish(self, exit_code: int = 0) -> None:
        """Say that the training has ended as it should; with another ``exit_code`` than 0 say nothing."""

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.finish(0 if error is None else 1)


class SilentRun(Run):
    """The run of a process that nobody supervises."""
