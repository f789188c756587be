"""Where in the run a line belongs: counts that begin anew with every epoch become steps of the run."""

from __future__ import annotations

from typing import Final

_MAX_STEP: Final = 2**53


class Counter:
    """One counting voice: the steps named in lines, or those of a bar.

    Whether it counts within the epoch or the whole run shows when the epoch
    changes: a count that goes on counts the run.
    """

    def __init__(self) -> None:
        self._raw: int | None = None
        self._total: int | None = None
        self._epoch: int | None = None
        self._stride = 1
        self._offset = 0
        self._runs_on = False

    def step(self, raw: int, *, total: int | None, epoch: int | None) -> int | None:
        """The step of the run that ``raw`` is; None where it is out of order.

        Args:
            raw: the number as printed.
            total: what it counts to.
            epoch: the present epoch, counted from 0; None when nobody has named one.
        """
        before, self_epoch = self._raw, self._epoch
        if before is not None and epoch != self_epoch and raw > before:
            self._runs_on = True
        if before is not None and raw < before and not self._is_restart(raw, epoch):
            return None
        if before is not None and raw < before:
            self._offset += self._total or before
            self._stride = 1
        elif before is not None and raw > before and self._stride == 1:
            self._stride = raw - before
        self._raw, self._total, self._epoch = raw, total, epoch
        if epoch is not None and total is not None and not self._runs_on:
            return min(epoch * total + raw, _MAX_STEP)
        return min(self._offset * (not self._runs_on) + raw, _MAX_STEP)

    def whole(self, total: int | None, *, epoch: int | None, num_epochs: int | None) -> int | None:
        """How many steps the run will have, as far as that is known."""
        if total is None or total <= 0:
            return None
        if epoch is None or self._runs_on:
            return total if self._offset == 0 else None
        return total * num_epochs if num_epochs else None

    def _is_restart(self, raw: int, epoch: int | None) -> bool:
        """Whether a smaller count is a new beginning, and no late word of another process."""
        before = self._raw or 0
        if epoch != self._epoch:
            return True
        return raw * 2 <= before and raw <= 2 * self._stride


class Place:
    """The way through the run; ``step`` never goes back, ``epoch`` counts from 0, fractional where known."""

    def __init__(self, *, from_step: int = 0, steps_per_report: int = 1) -> None:
        self.step = from_step
        self.total_steps: int | None = None
        self.num_epochs: int | None = None
        self.epoch: float | None = None
        self.is_counted = False
        self._from_step = from_step
        self._per_report = steps_per_report
        self._base: int | None = None
        self._index: int | None = None
        self._counters: dict[str, Counter] = {}
        self._is_ordinal = False

    def enter(self, epoch: int | None, num_epochs: int | None) -> None:
        """The line speaks of epoch ``epoch``, as printed; None changes nothing."""
        if epoch is None:
            return
        if self._base is None or epoch < self._base:
            self._base = 1 if epoch >= 1 else 0
        if num_epochs:
            self.num_epochs = num_epochs
        self._index = max(0, epoch - self._base)
        if self.epoch is None or self._index > self.epoch:
            self.epoch = float(self._index)

    def counted(self, voice: str, raw: int, *, total: int | None) -> int | None:
        """The step for a count by ``voice``; None where it is out of order."""
        counter = self._counters.setdefault(voice, Counter())
        step = counter.step(raw, total=total, epoch=self._index)
        if step is None:
            return None
        self.is_counted = True
        whole = counter.whole(total, epoch=self._index, num_epochs=self.num_epochs)
        self.total_steps = whole or self.total_steps
        if self._index is not None and total and raw <= total:
            self.epoch = self._index + raw / total
        return self._reach(step)

    def named(self, step: int, *, total: int | None = None) -> int:
        """The step of the whole run that a line names itself."""
        self.is_counted = True
        self.total_steps = total or self.total_steps
        return self._reach(step)

    def by_epoch(self, *, is_repeated: bool) -> int:
        """The step for a line that names an epoch only: counted steps, or else epochs are the steps.

        ``is_repeated`` says that what it reports was reported at this step before.
        """
        if self.is_counted or self._index is None:
            return self.step
        if self._is_ordinal or (is_repeated and self.step >= self._index + 1):
            return self.next(is_repeated=is_repeated)
        return self._reach(self._index + 1)

    def next(self, *, is_repeated: bool) -> int:
        """The step for a line that says nothing of its place: one report later when it repeats a series."""
        if self.is_counted:
            return self.step
        if self._index is not None and not self._is_ordinal and not is_repeated:
            return self._reach(max(self.step, self._index + 1))
        self._is_ordinal = True
        if is_repeated or self.step == self._from_step:
            return self._reach(self.step + self._per_report)
        return self.step

    @property
    def has_epoch(self) -> bool:
        """Whether anybody has named an epoch."""
        return self._index is not None

    def _reach(self, step: int) -> int:
        self.step = max(self.step, step)
        return step
