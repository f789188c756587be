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
from app.launchers.launcher import Launcher
from app.launchers.local import LocalLauncher
from app.routes import (
    api,
    converters,
    dataset_pages,
    evolution_pages,
    login,
    pages,
    queue_pages,
    scripts_api,
    static_files,
    system_api,
    uplink_api,
)
from app.security import checkpoint, headers
from app.security.host_gate import HostGate
from app.services.access import Access
from app.services.adoption import Adoption
from app.services.alert_bell import AlertBell, LossBell
from app.services.alerts import Alerts
from app.services.asking import Asking
from app.services.backfill import Backfill
from app.services.dataset_desk import DatasetDesk
from app.services.dataset_inspection import Inspections
from app.services.dataset_uploads import Uploads
from app.services.doctor import Doctor
from app.services.evolution import Evolution
from app.services.evolution_map import EvolutionMaps
from app.services.ingest import Ingest
from app.services.live import LiveFeed
from app.services.metrics import MetricReader
from app.services.preflight import Preflight
from app.services.queue import RunQueue
from app.services.queue_parts import build_queue_parts
from app.services.run_probes import RunProbes
from app.services.run_reader import RunReader
from app.services.runs import Runs
from app.services.verification import Verification
from app.services.webhook import Webhook
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
BLUEPRINTS: Final = (
    login.bp,
    system_api.bp,
    uplink_api.bp,
    queue_pages.bp,
    dataset_pages.bp,
    evolution_pages.bp,
    scripts_api.pages,
)


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
        static_folder=None,  # type: ignore[arg-type] # Flask takes None, its subclass forgot
    )
    _configure(app)
    converters.install(app)
    sockets = _sockets(app)
    _wire(app, settings, launcher or LocalLauncher(), sockets)
    checkpoint.install(app)
    headers.install(app)
    error_responses.install(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    static_files.register(app, ROOT / "static")
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
    links = Links(server)

    def emit(event: str, payload: dict[str, Any], rooms: list[str]) -> None:
        server.emit(event, payload, room=rooms, namespace=VIEWER_NAMESPACE)

    store = Store(settings.database_url)
    live = LiveFeed(emit=emit, load_run=RunReader(store).load_json)
    parts = _container(store, live, settings=settings, launcher=launcher, links=links)
    viewer = Viewer(access=parts.access, live=live, settings=settings)
    server.register_namespace(viewer)
    server.register_namespace(Uplink(access=parts.access, ingest=parts.ingest, links=links))
    adoption = Adoption(
        store,
        settings=settings,
        launcher=launcher,
        live=LossBell(live, webhook=parts.webhook, store=store),
        redeliver_stop=parts.runs.redeliver_stop,
        wake_queue=parts.queue.wake,
    )
    app.extensions[EXTENSION] = parts
    app.extensions[BACKGROUND] = _background(parts, adoption, SocketKeeper(server, viewer))


def _container(
    store: Store, live: LiveFeed, *, settings: Settings, launcher: Launcher, links: Links
) -> Container:
    webhook = Webhook(store, settings=settings)
    queue = RunQueue(store, settings=settings, launcher=launcher, live=live)
    runs = Runs(
        store, settings=settings, live=live, launcher=launcher, send_command=links.send, wake_queue=queue.wake
    )
    return Container(
        settings=settings,
        store=store,
        ingest=Ingest(store, AlertBell(live, webhook=webhook)),
        runs=runs,
        queue=queue,
        queue_parts=build_queue_parts(
            store, settings=settings, launcher=launcher, live=live, queue=queue, runs=runs
        ),
        evolution=Evolution(store),
        evolution_maps=EvolutionMaps(store),
        metrics=MetricReader(store),
        live=live,
        access=Access(store),
        doctor=Doctor(settings),
        datasets=DatasetDesk(store, settings=settings, inspections=Inspections(), uploads=Uploads(settings)),
        preflight=Preflight(settings),
        verification=Verification(settings),
        asking=Asking(runs),
        backfill=Backfill(runs),
        run_probes=RunProbes(runs, store=store),
        alerts=Alerts(store, live=live),
        webhook=webhook,
    )


def _background(parts: Container, adoption: Adoption, keeper: SocketKeeper) -> Background:
    """Everything with threads or processes of its own, in the order in which it starts."""
    return Background(
        *(parts.store, Compactor(parts.store), parts.live, adoption, parts.queue, keeper),
        *(parts.doctor, parts.preflight, parts.verification, parts.webhook, parts.queue_parts.inbox),
        parts.datasets.inspections,
        parts.asking,
        parts.backfill,
    )
