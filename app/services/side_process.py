"""Commands of the training side, run beside the server: what they may inherit, and how they end."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from trainer.environment.build import build

ROOT: Final = Path(__file__).resolve().parents[2]
GRACE_S: Final = 20.0  # what a command gets to clean up
SHOWN_CHARACTERS: Final = 300


def side_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a trainer may inherit, so that no secret of the server gets through."""
    passed = {one.name: one.value for one in build(inherited=environ) if one.source == "inherited"}
    return {**passed, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


class SideProcess:
    """A command that prints its answer on standard output."""

    def __init__(self, command: Sequence[str], *, told: bytes = b"") -> None:
        """Start it; ``told`` is its standard input.

        Raises:
            OSError: it cannot be started.
        """
        self.is_late = False  # its limit has passed
        self._complaint = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        told_file = tempfile.TemporaryFile()  # noqa: SIM115 - closed below; a pipe might block
        try:
            told_file.write(told)
            told_file.seek(0)
            self._process = subprocess.Popen(
                list(command),
                stdin=told_file,
                stdout=subprocess.PIPE,
                stderr=self._complaint,
                cwd=ROOT,
                env=side_environment(os.environ),
                start_new_session=True,
            )
        except OSError:
            self._complaint.close()
            raise
        finally:
            told_file.close()

    @property
    def output(self) -> IO[bytes]:
        """What it prints, to be read to its end."""
        if self._process.stdout is None:
            raise ValueError("standard output is a pipe")
        return self._process.stdout

    def limit(self, seconds: float) -> threading.Timer:
        """Ask it to end when so many seconds have passed, unless the timer is cancelled."""
        timer = threading.Timer(seconds, self._end_late)
        timer.daemon = True
        timer.start()
        return timer

    def _end_late(self) -> None:
        self.is_late = True
        self.ask_to_end()

    def ask_to_end(self) -> None:
        """SIGTERM: it cleans up and leaves, or is killed after a grace."""
        with contextlib.suppress(OSError):
            self._process.terminate()
        insistent = threading.Timer(GRACE_S, self.kill)
        insistent.daemon = True
        insistent.start()

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(OSError):
            self._process.kill()

    def close(self) -> tuple[int, str]:
        """Wait until it has ended, killed if it must be; its exit code and the end of its complaints."""
        try:
            code = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        with self._complaint:
            self._complaint.seek(0)
            said = self._complaint.read().decode("utf-8", "replace").strip()
        self.output.close()
        return code, said[-SHOWN_CHARACTERS:]
