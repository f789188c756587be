"""Carries snapshots to the dashboard over HTTP: arrays never ride the socket.

A snapshot appears in its folder whole (the trainer renames it into place), so
the folder is the work list; one that is written anew is sent anew.  What has
arrived is noted in a file, and noted again after a reset of the dashboard,
which then asks for everything.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from pathlib import Path
from typing import Final

import requests

from trainer.protocol.run_folder import RunPaths
from trainer.protocol.snapshot_files import NOTE, mark_of, noted, snapshot_files

log = logging.getLogger(__name__)
_PAUSE_S: Final = 0.5
_TIMEOUT_S: Final = (5.0, 60.0)
_REFUSED: Final = frozenset({400, 413, 415, 422})  # the file itself is at fault: no use in trying again


class SnapshotCourier:
    """A thread that uploads what the snapshot folder holds, oldest step first."""

    def __init__(self, paths: RunPaths, *, run: str) -> None:
        self._paths = paths
        self._run = run
        self._note = paths.root / NOTE
        self._sent = noted(self._note)
        self._address: tuple[str, str] | None = None
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._carry, name="snapshot-courier", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def connected(self, url: str, token: str, *, is_empty: bool) -> None:
        """Say where the dashboard is now; one that knows nothing of the run gets everything again."""
        if is_empty:
            self._sent.clear()
            self._note.unlink(missing_ok=True)
        self._address = (url, token)
        self._wake.set()

    def drained(self) -> bool:
        """Whether everything in the folder has arrived or was refused for good."""
        return not self._waiting()

    def close(self) -> None:
        """End the thread; an upload under way is finished or times out."""
        self._closing.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def _carry(self) -> None:
        with requests.Session() as session:
            while not self._closing.is_set():
                self._wake.wait(_PAUSE_S)
                self._wake.clear()
                for path, mark in self._waiting():
                    if self._closing.is_set() or not self._upload(session, path, mark):
                        break

    def _waiting(self) -> list[tuple[Path, str]]:
        """Files with the marks they had before they were read: what is written meanwhile is sent again."""
        marked = ((path, mark_of(path, folder=self._paths.snapshots)) for path in snapshot_files(self._paths))
        return [(path, mark) for path, mark in marked if mark is not None and mark not in self._sent]

    def _upload(self, session: requests.Session, path: Path, mark: str) -> bool:
        """Whether the next one may be tried."""
        if self._address is None:
            return False
        url, token = self._address
        try:
            response = put_snapshot(session, path, url=url, token=token, run=self._run)
        except (requests.RequestException, OSError) as exc:
            log.info("snapshot %s: %s", path.name, exc)
            return False
        if response.status_code in _REFUSED:
            log.error("snapshot %s was refused: %d %s", path.name, response.status_code, response.text[:500])
        elif not response.ok:
            log.info("snapshot %s: HTTP %d", path.name, response.status_code)
            return False
        self._sent.add(mark)
        with contextlib.suppress(OSError), self._note.open("a") as note:
            note.write(mark + "\n")
        return True


def put_snapshot(
    session: requests.Session, path: Path, *, url: str, token: str, run: str
) -> requests.Response:
    """Upload one snapshot file; sent again it changes nothing.

    Raises:
        requests.RequestException: the dashboard cannot be reached.
        OSError: the file cannot be read.
    """
    step = int(path.name.removeprefix("step_").removesuffix(".json.gz"))
    return session.put(
        f"{url.rstrip('/')}/api/uplink/runs/{run}/snapshots/{step}",
        data=path.read_bytes(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/gzip"},
        timeout=_TIMEOUT_S,
    )
