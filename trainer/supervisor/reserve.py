"""A little room on the disk, kept from the start for the end of the run.

A disk that is full when a run ends must not keep anybody from learning how it
ended.  The room is given back just before the end is written.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Final

from trainer.protocol.run_folder import RunPaths

log = logging.getLogger(__name__)
RESERVE_BYTES: Final = 128 * 1024  # the exit records, and what of the spool may be waiting


class Reserve:
    """Room for the end of the run in ``paths``."""

    def __init__(self, paths: RunPaths) -> None:
        self._path = paths.root / ".reserve"

    def take(self) -> None:
        """Claim the room, synced; a disk that has not even that is told in the log."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(os.urandom(RESERVE_BYTES))  # not zeros: those take no room on some disks
                file.flush()
                os.fsync(file.fileno())
        except OSError as exc:
            log.warning("no room can be reserved for the end of the run: %s", exc)
            self.give_back()

    def give_back(self) -> None:
        """Free the room; nothing happens where there is none."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
