"""The application inside the test's own process, served over real sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import socketio
from apiflask import APIFlask
from werkzeug.serving import make_server

from app.config import Settings
from app.container import EXTENSION, Container
from app.domain.callers import Scope
from app.factory import create_app, hang_up
from app.services.access import issue_api_token, issue_login_code, issue_run_token
from app.store.models import Run
from tests.app.fresh_database import fresh_database
from tests.app.serving import free_port


@dataclass
class Served:
    """One application, its parts and its address."""

    app: APIFlask
    parts: Container
    url: str

    def token(self, scope: Scope) -> str:
        """A fresh API token."""
        return self.parts.store.write(lambda s: issue_api_token(s, scope=scope, label="test", now=0.0))

    def login_code(self) -> str:
        """A fresh login code."""
        return self.parts.store.write(lambda session: issue_login_code(session, now=time.time()))

    def session_cookie(self) -> str:
        """The ``Cookie`` header of a logged-in browser."""
        session_id = self.parts.access.login(self.login_code(), address="test")
        return f"signalbox_{self.parts.settings.port}_session={session_id}"

    def add_run(self, run_id: str, *, state: str = "running") -> str:
        """A run without a supervisor; returns its token."""
        now = time.time()
        asked = {"name": run_id, "recipe": "two_tower", "dataset": "docs", "params": {}}
        kept = {"tags": [], "policy": {}, "profile": "auto", "state": state, "latest": {}, "attempt": 1}
        run = Run(id=run_id, queued_at=now, created_at=now, **asked, **kept)
        self.parts.store.write(lambda session: session.add(run))
        return self.parts.store.write(lambda session: issue_run_token(session, run_id))

    def supervisor(self, run_id: str, token: str) -> socketio.Client:
        """A connected supervisor's socket."""
        client = socketio.Client(reconnection=False)
        auth = {"run": run_id, "token": token}
        client.connect(self.url, namespaces=["/uplink"], auth=auth, transports=["websocket"], wait_timeout=10)
        return client

    def browser(self, cookie: str | None) -> socketio.Client:
        """A connected browser's socket."""
        client = socketio.Client(reconnection=False)
        headers = {} if cookie is None else {"Cookie": cookie}
        client.connect(
            self.url, namespaces=["/viewer"], headers=headers, transports=["websocket"], wait_timeout=10
        )
        return client


@contextmanager
def served(instance: Path, **variables: str) -> Iterator[Served]:
    """Build, start and serve an application; its queue and adoption stay still."""
    port = free_port()
    environ = {"SIGNALBOX_INSTANCE": str(instance), "SIGNALBOX_PORT": str(port), **variables}
    settings = Settings.from_env(environ)
    instance.mkdir(parents=True, exist_ok=True)
    fresh_database(instance / "signalbox.db")
    app = create_app(settings)
    parts: Container = app.extensions[EXTENSION]
    parts.store.start()
    parts.live.start()
    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield Served(app, parts, settings.base_url)
    finally:
        hang_up(app)
        server.shutdown()
        thread.join(10)
        server.server_close()
        app.extensions["socketio"].server.shutdown()
        parts.live.close()
        parts.store.close()
