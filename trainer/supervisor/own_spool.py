"""What the supervisor has to say, spooled like the trainer's words, in a stream of its own.

Any thread may append.  A full disk neither stops the supervisor nor breaks the
numbering: events that could not be written wait for the next one, samples are
left out.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import orjson

from trainer.protocol.events import EventType, Stream, encode_number
from trainer.protocol.run_folder import RunPaths, segments
from trainer.telemetry.spool_writer import SpoolWriter

_NUM_WAITING: Final = 1000


class OwnSpool:
    """Appends events of the supervisor's stream; ``seq`` goes on over all attempts."""

    def __init__(self, paths: RunPaths) -> None:
        self._writer = SpoolWriter(paths.spool(Stream.SUPERVISOR))
        self._lock = threading.Lock()
        self._waiting: deque[bytes] = deque(maxlen=_NUM_WAITING)

    def append(self, kind: EventType, *, attempt: int, **fields: Any) -> None:
        """Append one event; unless the disk is full it survives the death of any process from here on."""
        with self._lock:
            self._waiting.append(_line(kind, attempt, fields))
            self._write_waiting()

    def metrics(self, *, attempt: int, step: int, values: Mapping[str, float]) -> None:
        """Append samples; left out while the disk does not even take the events."""
        safe = {name: encode_number(value) for name, value in values.items()}
        with self._lock:
            self._write_waiting()
            if not self._waiting:
                self._writer.append(_line(EventType.METRICS, attempt, {"step": step, "values": safe}))

    def flush(self) -> bool:
        """Write what waits; whether nothing waits any more."""
        with self._lock:
            self._write_waiting()
            return not self._waiting

    def close(self) -> None:
        """Write what waits, and let go of the file."""
        with self._lock:
            self._write_waiting()
            self._writer.close()

    def _write_waiting(self) -> None:
        while self._waiting and self._writer.append(self._waiting[0]):
            self._waiting.popleft()


class SpoolSync:
    """Makes what both streams have appended survive a power cut; call it every second."""

    def __init__(self, paths: RunPaths) -> None:
        self._folders = [paths.spool(stream) for stream in Stream]
        self._synced: dict[str, int] = {}  # segment -> size at its last sync

    def sync(self) -> None:
        """Sync every segment that grew; a disk that refuses is no reason to stop the training."""
        for path in [path for folder in self._folders for path in segments(folder)[-2:]]:
            try:
                size = path.stat().st_size
                if self._synced.get(str(path)) == size:
                    continue
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                _sync_content(descriptor)
                self._synced[str(path)] = size
            except OSError:
                continue
            finally:
                os.close(descriptor)


def _sync_content(descriptor: int) -> None:
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def _line(kind: EventType, attempt: int, fields: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"type": kind.value, "attempt": attempt, **fields})[1:]
