"""How far the trainer has come, read from its spool: for the terminal, the verdict and the exit record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from trainer.protocol.batches import Batch, Block
from trainer.protocol.events import EventType, Stream
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.spool_reader import SpoolReader


class Tally:
    """Follows the trainer's stream from where one attempt begins.

    Plain attributes, ``None`` or empty until the trainer has said so: ``step``,
    ``total_steps``, ``epoch``, ``phase``, ``detail``, ``device``, ``latest`` (newest
    value per series), ``best`` (metrics of the best checkpoint), ``finished`` (the
    trainer's last word), ``alerts`` (in words).  ``listener`` is shown every batch.
    """

    def __init__(self, paths: RunPaths, *, run: str, attempt: int, step: int) -> None:
        self._reader = SpoolReader(paths.spool(Stream.TRAINER), run=run, stream=Stream.TRAINER)
        self._reader.seek_end()
        self._attempt = attempt
        self.begun = False
        self.step = step
        self.total_steps: int | None = None
        self.epoch: float | None = None
        self.phase: str | None = None
        self.detail: str | None = None
        self.device: str | None = None
        self.latest: dict[str, float] = {}
        self.best: dict[str, Any] = {}
        self.finished: dict[str, Any] | None = None
        self.alerts: list[str] = []
        self.listener: Callable[[Batch], None] | None = None

    def update(self) -> bool:
        """Read what is new, to the end of the spool; whether there was anything."""
        advanced = False
        while read := self._reader.read():
            advanced = True
            for batch in read:
                self._take(batch)
        return advanced

    def close(self) -> None:
        """Let go of the spool."""
        self._reader.close()

    def metrics(self) -> dict[str, dict[str, float | None]]:
        """``{"last", "best"}`` for the exit record: the trainer's own word where it gave one."""
        said = (self.finished or {}).get("metrics")
        said = said if isinstance(said, Mapping) else {}
        return {
            "last": _finite(said.get("last") or self.latest),
            "best": _finite(said.get("best") or self.best),
        }

    def _take(self, batch: Batch) -> None:
        for block in batch.blocks:
            self._take_block(block)
        for event in batch.events:
            self._take_event(event)
        if self.listener is not None:
            self.listener(batch)

    def _take_block(self, block: Block) -> None:
        self.begun = True
        self.step = max(self.step, block.steps[-1])
        for name, column in zip(block.names, block.values, strict=True):
            self.latest[name] = column[-1]

    def _take_event(self, event: Mapping[str, Any]) -> None:
        self.begun = True
        step = event.get("step")
        if isinstance(step, int):
            self.step = max(self.step, step)
        kind = event["type"]
        if kind == EventType.PROGRESS:
            self.total_steps, self.epoch = event.get("total_steps"), event.get("epoch")
        elif kind == EventType.PHASE:
            self.phase, self.detail = event.get("name"), event.get("detail")
        elif kind == EventType.DEVICE:
            self.device = str(event.get("name"))
        elif kind == EventType.FINISHED:
            self.finished = dict(event)
        elif kind == EventType.CHECKPOINT and event.get("best"):
            self.best = dict(event.get("metrics") or {})
        elif kind == EventType.ALERT:
            self.alerts.append(f"{event.get('title')}: {event.get('text')}")


def _finite(raw: Any) -> dict[str, float | None]:
    """Numbers as they are; what is not finite, or no number, as None."""
    if not isinstance(raw, Mapping):
        return {}
    return {
        str(name): float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
        for name, value in raw.items()
    }
