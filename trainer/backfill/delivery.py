"""Brings back-filled snapshots to the dashboard: over HTTP with the run's token, as those of the training."""

from __future__ import annotations

import logging
from pathlib import Path

import requests

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object
from trainer.protocol.run_folder import RunPaths
from trainer.protocol.snapshot_files import NOTE, mark_of, noted
from trainer.supervisor.snapshot_courier import put_snapshot

log = logging.getLogger(__name__)


class Delivery:
    """What has arrived is noted, so that it is not sent again; a run without a dashboard keeps its files."""

    def __init__(self, paths: RunPaths, *, run: str, folder: Path) -> None:
        """Nothing is sent yet.

        Args:
            paths: of the run: where the dashboard is, and the token.
            run: its id.
            folder: where the files lie.
        """
        self._paths, self._run = paths, run
        self._note = folder.parent / NOTE

    def deliver(self, path: Path) -> bool:
        """Whether the file has arrived, now or before; True where there is no dashboard, or no file."""
        mark = mark_of(path, folder=path.parent)
        if mark is None or not self._paths.token.exists() or mark in noted(self._note):
            return True
        try:
            url = str(read_object(self._paths.uplink)["url"])
            token = self._paths.token.read_text().strip()
            with requests.Session() as session:
                response = put_snapshot(session, path, url=url, token=token, run=self._run)
        except (requests.RequestException, OSError, ProtocolError, KeyError) as exc:
            log.warning("snapshot %s: %s", path.name, exc)
            return False
        if not response.ok:
            log.warning("snapshot %s: HTTP %d %s", path.name, response.status_code, response.text[:300])
            return False
        with self._note.open("a") as note:
            note.write(mark + "\n")
        return True
