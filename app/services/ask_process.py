"""The desk of one run beside the server: ``python -m trainer ask RUN_DIR -``, spoken to in JSON lines.

Its standard input ends with the server, and it with that; nothing of it is loaded here.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any, Final

from app.services.side_process import ROOT, SHOWN_CHARACTERS, side_environment

_ENDED: Final = None
_GRACE_S: Final = 5.0


class AskProcess:
    """A desk that has been started; one question at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        self.doing: dict[str, Any] | None = None  # how far it is with the present question
        self._number = 0
        self._words: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._complaint: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the reader
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaint,
                cwd=ROOT,
                env=side_environment(os.environ),
                start_new_session=True,
            )
        except OSError:
            self._complaint.close()
            raise
        self._said = ""
        self._reader = threading.Thread(target=self._read, name="asking", daemon=True)
        self._reader.start()

    @property
    def is_alive(self) -> bool:
        """Whether it takes questions."""
        return self._process.poll() is None and self._reader.is_alive()

    def ask(
        self, question: Mapping[str, Any], *, checkpoint: str | None, limit_s: float
    ) -> dict[str, Any] | None:
        """``{"result"}`` or ``{"error"}`` as the desk says it; None when it ended or took too long.

        Then it has been ended, and :attr:`last_words` tell what it complained of.
        """
        self._number += 1
        line = json.dumps({"id": self._number, "question": dict(question), "checkpoint": checkpoint})
        self.doing = {"detail": "starting a process", "fraction": 0.0}
        late = threading.Timer(limit_s, self.end)
        late.daemon = True
        late.start()
        try:
            self._send(line.encode() + b"\n")
            while (word := self._words.get()) is not _ENDED:
                if word.get("id") != self._number:
                    continue
                if "tell" not in word:
                    return word
                self.doing = {"detail": word["tell"], "fraction": word["fraction"]}
            self._words.put(_ENDED)  # whoever asks next must not wait either
            return None
        finally:
            late.cancel()
            self.doing = None

    @property
    def last_words(self) -> str:
        """The end of what it complained of."""
        return self._said

    def end(self) -> None:
        """Ask it to end, with the model it holds; harmless when it has ended."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.close()
        with contextlib.suppress(OSError):
            self._process.terminate()

    def close(self) -> None:
        """End it and wait until it has."""
        self.end()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join(_GRACE_S)

    def _send(self, line: bytes) -> None:
        stream = self._process.stdin
        with contextlib.suppress(OSError, ValueError):  # it has ended: the reader says so
            if stream is not None:
                stream.write(line)
                stream.flush()

    def _read(self) -> None:
        """Pass on what it says until it ends, in a thread of its own."""
        if self._process.stdout is not None:
            for line in self._process.stdout:
                with contextlib.suppress(ValueError):
                    self._words.put(json.loads(line))
            self._process.stdout.close()
        self._process.wait()
        with self._complaint:
            self._complaint.seek(0)
            self._said = self._complaint.read().decode("utf-8", "replace").strip()[-SHOWN_CHARACTERS:]
        self._words.put(_ENDED)
