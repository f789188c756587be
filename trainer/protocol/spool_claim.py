"""Who writes the trainer's stream of a run whose trainer is a user's own script.

As long as the script itself says nothing, the supervisor reads its output and
writes what it finds. From the script's first own report on only the script
writes, so that nothing is counted twice. Both hold ``spool/trainer.claim``
locked while they write: the supervisor for a moment, the script until its end.
What the file says outlives its writer: output is not read again in that
attempt. A script that has opened its run but not reported yet is *announced*:
what it prints is then held back for a moment, lest its first report says the
same again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from types import TracebackType
from typing import Final

from trainer.protocol.run_folder import RunPaths

_MOST_BYTES: Final = 1024


class SpoolClaim:
    """One side's hold on the trainer's stream; not for use by several threads at once."""

    def __init__(self, paths: RunPaths, *, attempt: int) -> None:
        self._path = paths.root / "spool" / "trainer.claim"
        self._announcement = paths.root / "spool" / "trainer.announced"
        self._attempt = attempt
        self._descriptor = -1

    def take(self) -> bool:
        """Lock without waiting; whether it is ours now.

        Raises:
            OSError: the run folder cannot be written.
        """
        if self._descriptor < 0:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def give_back(self) -> None:
        """Unlock."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN)

    def is_script(self) -> bool:
        """Whether the script of this attempt reports, or has reported, itself."""
        if self._descriptor < 0:
            return False
        try:
            said = json.loads(os.pread(self._descriptor, _MOST_BYTES, 0) or b"{}")
            return isinstance(said, dict) and said.get("attempt") == self._attempt
        except (OSError, ValueError):
            return False

    def announce(self) -> None:
        """Say that the script of this attempt may come to report itself; a full disk changes nothing."""
        with contextlib.suppress(OSError):
            self._announcement.parent.mkdir(parents=True, exist_ok=True)
            self._announcement.write_text(str(self._attempt), encoding="ascii")

    def is_announced(self) -> bool:
        """Whether the script of this attempt has opened its run."""
        try:
            return self._announcement.read_text(encoding="ascii") == str(self._attempt)
        except (OSError, UnicodeDecodeError):
            return False

    def mark(self) -> None:
        """Say that the script of this attempt reports itself; the claim must have been taken.

        Raises:
            OSError: the disk refuses.
        """
        text = json.dumps({"attempt": self._attempt, "pid": os.getpid()}).encode()
        os.pwrite(self._descriptor, text, 0)
        os.ftruncate(self._descriptor, len(text))

    def close(self) -> None:
        """Unlock and let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> SpoolClaim:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
