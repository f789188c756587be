"""Keeping a Mac awake while it trains: ``caffeinate`` beside the trainer.

It watches the trainer's pid and leaves with it.  Not the other way round: as
the trainer's parent it would take the signals and the exit status that are
meant for the supervisor.
"""

from __future__ import annotations

import contextlib
import logging
import subprocess
from collections.abc import Sequence
from typing import Final

log = logging.getLogger(__name__)
_LEAVE_S: Final = 2.0


class Companion:
    """A process that lives as long as the trainer; without a command there is none."""

    def __init__(self, argv: Sequence[str] | None) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if argv is None:
            return
        try:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                start_new_session=True,
            )
        except OSError as exc:
            log.warning("the machine may fall asleep during the run: %s", exc)

    def close(self) -> None:
        """Wait for its end, and help where it is late."""
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_S)
            return
        self._process.kill()
        self._process.wait()
