"""Builds the whole application from its settings; the one place that wires.

``create_app`` starts no thread and no run.  ``start_background`` does, and
``stop_background`` ends what it started, in the opposite order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson
from apiflask import APIFlask
from flask import Flask
from flask.json.provider import JSONProvider
from flask_socketio import SocketIO

from app import error_responses
from app.background import Background
from app.config import Settings
from app.container import EXTENSION, Container
from app.errors import NotFound
from app.launchers.launcher import Launcher
from app.launchers.local import LocalLauncher
from app.routes import api, login, pages, queue_pages, system_api, uplink_api
from app.security import checkpoint, headers
from app.security.host_gate import HostGate
from app.services.access import Access
from app.services.adoption import Adoption
from app.services.doctor import Doctor
from app.services.evolution import Evolution
from app.services.ingest import Ingest
from app.services.live import LiveFeed
from app.services.metrics import MetricReader
from app.services.queue import RunQueue
from app.services.queue_parts import build_queue_parts
from app.services.runs import Runs
from app.sockets import packets
from app.sockets.driver import MAX_MESSAGE_BYTES, bounded_driver
from app.sockets.keeper import SocketKeeper
from app.sockets.links import Links
from app.sockets.uplink import Uplink
from app.sockets.viewer import Viewer
from app.store.compaction import Compactor
from app.store.engine import Store
from app.version import VERSION
from trainer.protocol.events import VIEWER_NAMESPACE

ROOT: Final = Path(__file__).resolve().parents[1]
MAX_BODY_BYTES: Final = 1024 * 1024
BACKGROUND: Final = "signalbox_background"
PING_INTERVAL_S: Final = 10
PING_TIMEOUT_S: Final = 15
BLUEPRINTS: Final = (login.bp, system_api.bp, uplink_api.bp, queue_pages.bp)


class OrjsonProvider(JSONProvider):
    """JSON that never says NaN: what is not finite becomes null."""

    def dumps(self, obj: Any, **_: Any) -> str:
        """Serialise; numpy arrays included, unknown types as text."""
        return orjson.dumps(
            obj, default=str, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
        ).decode()

    def loads(self, s: str | bytes, **_: Any) -> Any:
        """Parse; NaN and infinities are errors."""
        return orjson.loads(s)


class SocketJson:
    """orjson with the signature python-socketio calls."""

    @staticmethod
    def dumps(obj: Any, **_: Any) -> str:
        """Serialise; what is not finite becomes null."""
        return orjson.dumps(obj, option=orjson.OPT_NON_STR_KEYS).decode()

    @staticmethod
    def loads(text: str | bytes, **_: Any) -> Any:
        """Parse; raises ValueError on anything that is not JSON."""
        return orjson.loads(text)


def create_app(settings: Settings, *, launcher: Launcher | None = None) -> APIFlask:
    """Build the application; the database must have the newest schema.

    Args:
        settings: frozen settings, see :mod:`app.config`.
        launcher: how supervisors are started; None stands for processes on this machine.
    """
    app = APIFlask(
        "signalbox",
        title="Signalbox",
        version=VERSION,
        docs_path=None,
        json_errors=False,
        root_path=str(ROOT),
    )
    _configure(app)
    sockets = _sockets(app)
    _wire(app, settings, launcher or LocalLauncher(), sockets)
    checkpoint.install(app)
    headers.install(app)
    error_responses.install(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    pages.register(app)
    api.register(app)
    app.wsgi_app = HostGate(app.wsgi_app, settings)  # type: ignore[method-assign]
    return app


def start_background(app: Flask) -> None:
    """Start the writer, the feed, the queue and re-adoption; once per application."""
    background: Background = app.extensions[BACKGROUND]
    background.start()


def stop_background(app: Flask) -> None:
    """End the threads of ``app``; what is accepted is committed first, runs go on."""
    background: Background = app.extensions[BACKGROUND]
    background.close()


def hang_up(app: Flask) -> None:
    """Close every websocket; their peers come back to the next server by themselves."""
    for connection in list(app.extensions["socketio"].server.eio.sockets.values()):
        connection.close(wait=False)


def _configure(app: APIFlask) -> None:
    app.json = OrjsonProvider(app)
    app.config.update(
        MAX_CONTENT_LENGTH=MAX_BODY_BYTES,
        MAX_FORM_MEMORY_SIZE=MAX_BODY_BYTES,
        VALIDATION_ERROR_DESCRIPTION="a value is wrong",
        SPEC_FORMAT="json",
        TEMPLATES_AUTO_RELOAD=False,
    )


def _sockets(app: APIFlask) -> SocketIO:
    """One Socket.IO server per application; foreign origins never get past the gate in front of it."""
    sockets = SocketIO(
        app,
        async_mode="threading",
        async_handlers=False,
        transports=["websocket"],
        cors_allowed_origins=[],  # no CORS headers at all: the gate has checked the origin
        json=SocketJson,
        max_http_buffer_size=MAX_MESSAGE_BYTES,
        ping_interval=PING_INTERVAL_S,
        ping_timeout=PING_TIMEOUT_S,
        manage_session=False,
    )
    sockets.server.eio._async = bounded_driver()
    packets.install(sockets.server)
    return sockets


def _wire(app: APIFlask, settings: Settings, launcher: Launcher, sockets: SocketIO) -> None:
    server = sockets.server
    store = Store(settings.database_url)
    access = Access(store)

    def emit(event: str, payload: dict[str, Any], rooms: list[str]) -> None:
        server.emit(event, payload, room=rooms, namespace=VIEWER_NAMESPACE)

    def load_run(run_id: str) -> dict[str, Any] | None:
        try:
            return runs.to_json(runs.get(run_id))
        except NotFound:
            return None

    links = Links(server)
    doctor = Doctor(settings)
    live = LiveFeed(emit=emit, load_run=load_run)
    ingest = Ingest(store, live)
    queue = RunQueue(store, settings=settings, launcher=launcher, live=live)
    runs = Runs(
        store, settings=settings, live=live, launcher=launcher, send_command=links.send, wake_queue=queue.wake
    )
    adoption = Adoption(
        store,
        settings=settings,
        launcher=launcher,
        live=live,
        redeliver_stop=runs.redeliver_stop,
        wake_queue=queue.wake,
    )
    parts = build_queue_parts(store, settings=settings, launcher=launcher, live=live, queue=queue, runs=runs)
    viewer = Viewer(access=access, live=live, settings=settings)
    server.register_namespace(viewer)
    server.register_namespace(Uplink(access=access, ingest=ingest, links=links))
    app.extensions[EXTENSION] = Container(
        settings=settings,
        store=store,
        ingest=ingest,
        runs=runs,
        queue=queue,
        queue_parts=parts,
        evolution=Evolution(store),
        metrics=MetricReader(store),
        live=live,
        access=access,
        doctor=doctor,
    )
    app.extensions[BACKGROUND] = Background(
        store, Compactor(store), live, adoption, queue, SocketKeeper(server, viewer), doctor, parts.inbox
    )
