"""gunicorn, with exactly one worker, and our threads in that worker only."""

from __future__ import annotations

import gc
import logging
import os
import socket
import threading
from collections.abc import Callable
from typing import Any, Final

from apiflask import APIFlask
from gunicorn.app.base import BaseApplication
from gunicorn.workers.gthread import ThreadWorker

from app.config import Settings
from app.factory import create_app, hang_up, start_background, stop_background
from app.server.demo import start_demo
from app.sockets.driver import USER_TIMEOUT_MS

GRACE_S: Final = 3  # for requests in flight when the server is stopped
KEEPALIVE_S: Final = 15
GARBAGE_THRESHOLDS: Final = (50_000, 20, 20)  # an answer of 3 MB has 30,000 objects, none of them garbage
logger: Final = logging.getLogger("signalbox.server")


class SignalboxWorker(ThreadWorker):  # type: ignore[misc]
    """A threaded worker that ends in time although its websockets would go on for ever."""

    def init_process(self) -> None:
        """Let the kernel notice silent peers on every connection, then serve."""
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            for listener in self.sockets:  # accepted sockets inherit it
                listener.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
        super().init_process()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM: stop accepting, and say good-bye to the sockets at once."""
        threading.Thread(target=self.app.hang_up, name="hang-up", daemon=True).start()
        super().handle_exit(sig, frame)

    def is_parent_alive(self) -> bool:
        """Whether gunicorn's parent is there; without it nobody could stop us, so we stop."""
        alive: bool = super().is_parent_alive()
        if not alive:
            self.app.hang_up()
        return alive


class Server(BaseApplication):  # type: ignore[misc]
    """Our application as gunicorn wants it."""

    def __init__(self, settings: Settings, *, demo: bool, announce: Callable[[], None]) -> None:
        self._settings = settings
        self._demo = demo
        self._announce = announce
        self._wsgi: APIFlask | None = None
        super().__init__()

    def load_config(self) -> None:
        """One worker, many threads, no control socket, no access log."""
        settings = self._settings
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        values = {
            "bind": f"{host}:{settings.port}",
            "workers": 1,
            "worker_class": SignalboxWorker,
            "threads": settings.threads,
            "worker_connections": settings.threads + 512,
            "timeout": 0,
            "graceful_timeout": GRACE_S,
            "keepalive": KEEPALIVE_S,
            "control_socket_disable": True,
            "accesslog": None,
            "loglevel": "warning",
            "limit_request_fields": 64,
            "limit_request_line": 4094,
            "limit_request_field_size": 8190,
            "proc_name": "signalbox",
            "forwarded_allow_ips": "",
            "when_ready": lambda _arbiter: self._announce(),
            "worker_exit": _end_worker,
        }
        for name, value in values.items():
            self.cfg.set(name, value)

    def load(self) -> APIFlask:
        """Build and start the application; gunicorn calls this in the worker."""
        app = create_app(self._settings)
        start_background(app)
        self._wsgi = app
        if self._demo:
            start_demo(app, key=f"demo-{os.getppid()}-{self._settings.port}")
        _spare_the_collector()
        return app

    def hang_up(self) -> None:
        """Close every websocket, so that the worker can end."""
        if self._wsgi is not None:
            hang_up(self._wsgi)

    def stop(self) -> None:
        """Commit what is accepted and end the background threads; safe to call twice."""
        if self._wsgi is not None:
            stop_background(self._wsgi)


def serve(settings: Settings, *, demo: bool, announce: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; ends the process.

    Args:
        settings: where and how.
        demo: start a training run unless one is under way.
        announce: called once the port accepts connections.
    """
    logger.info("start on %s", settings.base_url)
    Server(settings, demo=demo, announce=announce).run()


def _spare_the_collector() -> None:
    """Imports stay, and answers have no cycles: to look for them took a quarter of a large one's time."""
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


def _end_worker(server: object, worker: SignalboxWorker) -> None:
    """Commit and leave; threads that still wait on a dead peer must not keep the process."""
    worker.app.stop()
    logger.info("stop")
    logging.shutdown()
    os._exit(0)
