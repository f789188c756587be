"""Turns what was read into events of the trainer's stream, each thing said once.

A series gets one value per step and its steps grow; what cannot be put behind
its newest point is left out. Events have the fields of
:mod:`trainer.protocol.events`, without ``seq``, ``t`` and ``attempt``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainer.protocol.events import EventType, Phase, encode_number
from trainer.telemetry.output.placing import Place

MAX_SERIES: Final = 500
_PHASE_EVERY_S: Final = 1.0


class Sayer:
    """Collects the events of one feed; ``has_trained`` once a training step was read."""

    def __init__(self, place: Place) -> None:
        self.has_trained = False
        self._place = place
        self._events: list[dict[str, Any]] = []
        self._newest: dict[str, int] = {}
        self._values: dict[str, float] = {}
        self._told: tuple[Any, ...] = ()
        self._phase: str | None = None
        self._phase_at = 0.0

    def is_repeated(self, names: Mapping[str, float], *, step: int) -> bool:
        """Whether one of ``names`` has a value at ``step`` or behind it."""
        return any(self._newest.get(name, -1) >= step for name in names)

    def metrics(self, step: int, values: Mapping[str, float]) -> bool:
        """Say what was measured at ``step``; whether anything of it was new."""
        fresh = {}
        for name, value in values.items():
            newest = self._newest.get(name)
            if newest is None and len(self._newest) >= MAX_SERIES:
                continue
            if newest is None or step > newest:
                fresh[name] = encode_number(value)
                self._newest[name], self._values[name] = step, value
        if fresh:
            self._events.append({"type": EventType.METRICS.value, "step": step, "values": fresh})
        return bool(fresh)

    def without_stale(self, values: Mapping[str, float]) -> dict[str, float]:
        """``values`` without those a bar only goes on showing: what is measured once per epoch."""
        return {name: value for name, value in values.items() if self._is_fresh(name, value)}

    def _is_fresh(self, name: str, value: float) -> bool:
        is_rare = name.startswith(("eval/", "test/")) or name.endswith("_epoch")
        return not is_rare or self._values.get(name) != value

    def trains(self, t: float) -> None:
        """The training advances."""
        self.has_trained = True
        self.phase(Phase.TRAINING, t)

    def phase(self, phase: Phase, t: float, *, detail: str = "", fraction: float | None = None) -> None:
        """Say what is being done; the same again at most once a second."""
        if self._phase == phase.value and (not detail or t - self._phase_at < _PHASE_EVERY_S):
            return
        self._phase, self._phase_at = phase.value, t
        event: dict[str, Any] = {"type": EventType.PHASE.value, "name": phase.value, "step": self._place.step}
        if detail:
            event["detail"] = detail
        if fraction is not None:
            event["fraction"] = round(min(1.0, max(0.0, fraction)), 4)
        self._events.append(event)

    def alert(self, title: str, text: str) -> None:
        """Tell a person something."""
        fields = {"level": "warning", "title": title, "text": text, "step": self._place.step}
        self._events.append({"type": EventType.ALERT.value, **fields})

    def take(self) -> list[dict[str, Any]]:
        """The events since the last time, and how far the training is, where that has changed."""
        place = self._place
        now = (place.step, place.total_steps, place.epoch, place.num_epochs)
        if self.has_trained and now != self._told:
            self._told = now
            event = {"type": EventType.PROGRESS.value, "step": place.step, "total_steps": place.total_steps}
            self._events.append({**event, "epoch": place.epoch, "num_epochs": place.num_epochs})
        events, self._events = self._events, []
        return events
