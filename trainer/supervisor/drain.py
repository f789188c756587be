"""Ships what a run that has ended still holds, when its dashboard was away or its supervisor was killed."""

from __future__ import annotations

import logging

from trainer.protocol.events import Command
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.supervisor.console import Console
from trainer.supervisor.recovery import SurvivorsLeft, clear_leftovers, last_attempt
from trainer.supervisor.reserve import Reserve
from trainer.supervisor.run_lock import RunLock
from trainer.supervisor.uplink import Uplink

log = logging.getLogger(__name__)


def drain(paths: RunPaths, *, timeout_s: float = 60.0) -> bool:
    """Connect, ship everything the dashboard lacks, leave; False when some of it is still here.

    A run without an exit record lost its supervisor: what that left running is ended first, trainers with
    their usual grace.

    Raises:
        ProtocolError: the run folder holds no readable ``spec.json``.
        RunLocked: a supervisor has this run, and ships it itself.
    """
    spec = RunSpec.load(paths)
    with RunLock(paths, ships_only=True):
        if not paths.exit.exists():
            _end_leftovers(paths, grace_s=spec.stop_grace_s)
        Reserve(paths).give_back()  # of a supervisor that was killed
        newest = last_attempt(paths)
        for attempt in range(1, newest + 1):
            console = Console(paths, attempt)
            console.update(last=True)  # what a killed supervisor could not look at any more
            console.close()
        uplink = Uplink(paths, run=spec.run_id, attempt=lambda: max(1, newest), on_command=_too_late)
        uplink.start()
        try:
            return uplink.drain(timeout_s)
        finally:
            uplink.close()


def _end_leftovers(paths: RunPaths, *, grace_s: float) -> None:
    try:
        ended = clear_leftovers(paths, grace_s=grace_s)
    except SurvivorsLeft as exc:
        log.error("%s", exc)
    else:
        if ended:
            log.warning("ended what a vanished supervisor left running: %s", ended)


def _too_late(order: Command) -> None:
    log.info("the run has ended: '%s' comes too late", order.value)
