"""The parts of one application, reachable from any request or socket event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import current_app

if TYPE_CHECKING:
    from app.config import Settings
    from app.services.access import Access
    from app.services.alerts import Alerts
    from app.services.asking import Asking
    from app.services.backfill import Backfill
    from app.services.dataset_desk import DatasetDesk
    from app.services.doctor import Doctor
    from app.services.evolution import Evolution
    from app.services.evolution_map import EvolutionMaps
    from app.services.ingest import Ingest
    from app.services.live import LiveFeed
    from app.services.metrics import MetricReader
    from app.services.preflight import Preflight
    from app.services.queue import RunQueue
    from app.services.queue_parts import QueueParts
    from app.services.run_probes import RunProbes
    from app.services.runs import Runs
    from app.services.verification import Verification
    from app.services.webhook import Webhook
    from app.store.engine import Store

EXTENSION: Final = "signalbox"


@dataclass(frozen=True, kw_only=True)
class Container:
    """Everything ``factory.create_app`` has wired; one per application, never global."""

    settings: Settings
    store: Store
    ingest: Ingest
    runs: Runs
    queue: RunQueue
    queue_parts: QueueParts
    evolution: Evolution
    evolution_maps: EvolutionMaps
    metrics: MetricReader
    live: LiveFeed
    access: Access
    doctor: Doctor
    datasets: DatasetDesk
    alerts: Alerts
    webhook: Webhook
    preflight: Preflight
    verification: Verification
    asking: Asking
    backfill: Backfill
    run_probes: RunProbes


def container() -> Container:
    """The container of the application that serves the current request or socket event."""
    wired: Container = current_app.extensions[EXTENSION]
    return wired
