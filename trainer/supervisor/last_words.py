"""The end of a run, written where every restart finds it, against a disk that refuses.

First the room reserved for it is given back.  If that is not enough, the end
is offered to the dashboard from memory at once, and writing is tried again for a bounded time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from trainer.protocol.events import EventType
from trainer.protocol.run_folder import ExitRecord, RunPaths
from trainer.supervisor.own_spool import OwnSpool
from trainer.supervisor.reserve import Reserve

log = logging.getLogger(__name__)
RETRY_S: Final = 30.0
_RETRY_EVERY_S: Final = 0.2


@dataclass
class LastWords:
    """Writes how a run ended; ``unwritten`` is what only the link can tell, None while the disk takes all.

    ``abandoned`` says that a person does not want to wait any longer.
    """

    paths: RunPaths
    spool: OwnSpool
    abandoned: Callable[[], bool] = lambda: False
    retry_s: float = RETRY_S
    unwritten: dict[str, Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._reserve = Reserve(self.paths)
        self._reserve.take()

    def write(self, record: ExitRecord, state: dict[str, Any]) -> None:
        """Write ``record`` and whatever the spool still holds back.

        Args:
            record: of the run's end.
            state: fields of the event that tells it; spooled here, behind the record.
        """
        self._reserve.give_back()
        refusal = self._save(record)
        self.spool.append(EventType.STATE, **state)
        refusal = refusal or self._flush()
        if refusal is None:
            return
        log.error("the end of the run cannot be written: %s", refusal)
        self.unwritten = {"state": {**state, "t": record.ended_at}, "findings": record.findings}
        deadline = time.monotonic() + self.retry_s
        while refusal is not None and time.monotonic() < deadline and not self.abandoned():
            time.sleep(_RETRY_EVERY_S)
            refusal = self._save(record) or self._flush()
        log.error(
            "the end of the run is %s", "only in memory" if refusal is not None else "written after all"
        )

    def _save(self, record: ExitRecord) -> str | None:
        """Why the records cannot be written; None when they are.  The run's own comes first."""
        # asked first: once the run's own record stands, its folder may be deleted, and must not come back
        lacks_attempt = not self.paths.attempt_exit(record.attempt).exists()
        try:
            record.save(self.paths)
            if lacks_attempt:
                record.save_attempt(self.paths)
        except OSError as exc:
            return str(exc)
        return None

    def _flush(self) -> str | None:
        return None if self.spool.flush() else "the spool takes no more"
