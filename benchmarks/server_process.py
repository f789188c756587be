"""A real dashboard in a process of its own, on a free port with a temporary instance."""

from __future__ import annotations

import http.client
import json
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.callers import Scope
from app.domain.run_states import RunState
from app.services.access import issue_api_token
from app.services.run_ids import new_run_id
from app.store import runs as run_rows
from app.store.engine import Store
from app.store.models import Run
from app.store.schema import upgrade

ROOT = Path(__file__).resolve().parents[1]
START_TIMEOUT_S = 60.0
T = TypeVar("T")


class ServerProcess:
    """Prepares an instance, starts ``wsgi.py`` on it, and asks its API over one kept connection."""

    def __init__(self, instance: Path) -> None:
        """Create the instance with its database and an owner's token; nothing is started yet."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        instance.mkdir(parents=True, exist_ok=True)
        self._instance = instance
        self._variables = {"SIGNALBOX_INSTANCE": str(instance), "SIGNALBOX_PORT": str(self.port)}
        self.settings = Settings.from_env(self._variables)
        upgrade(self.settings.database_url)
        self._token = self.prepare(
            lambda session: issue_api_token(session, scope=Scope.OWNER, label="bench", now=time.time())
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def prepare(self, work: Callable[[Session], T]) -> T:
        """Write to the database; only before :meth:`start`."""
        store = Store(self.settings.database_url)
        store.start()
        try:
            return store.write(work)
        finally:
            store.close()

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            RuntimeError: it ended, or did not answer in time; with its log. No server is left behind.
        """
        with (self._instance / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "wsgi.py"],
                cwd=ROOT,
                env={**os.environ, **self._variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self._wait_until_it_answers(self._process)
        except BaseException:  # an interrupt too
            self.close()
            raise

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self.get("/healthz")
                return
            except (OSError, http.client.HTTPException):  # not there yet, or gone in the middle of an answer
                self._connection.close()
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self._instance / "server.log").read_text()) from None
                time.sleep(0.05)

    def fetch(self, path: str) -> bytes:
        """The body of a GET.

        Raises:
            RuntimeError: the answer is no 200.
        """
        self._connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}"})
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {body[:500]!r}")
        return body

    def get(self, path: str) -> Any:
        """The JSON of a GET."""
        return json.loads(self.fetch(path))

    def close(self) -> None:
        """Stop the server."""
        self._connection.close()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def machine() -> str:
    """Where this was measured, and what else went on there."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}; load average over 1, 5 and 15 minutes at the end: {load}."
    )


def add_run(session: Session, name: str) -> str:
    """Store a run that has ended, so that nobody launches, adopts or misses it; returns its id."""
    now = time.time()
    run_id = new_run_id(now=now)
    run_rows.insert_run(
        session,
        Run(
            id=run_id, name=name, recipe="two_tower", dataset="python_docs", params={}, tags=[], policy={},
            profile="auto", state=RunState.QUEUED.value, created_at=now, queued_at=now, latest={},
        ),
    )  # fmt: skip
    run_rows.transition(session, run_id, new=RunState.STARTING)
    run_rows.transition(session, run_id, new=RunState.FINISHED)
    return run_id
