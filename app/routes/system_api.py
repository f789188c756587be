"""Is it alive, and what is it?"""

from __future__ import annotations

import os
import time
from typing import Any

from apiflask import APIBlueprint
from flask import current_app, jsonify
from flask.typing import ResponseReturnValue
from pydantic import BaseModel

from app.container import container
from app.security.access import public, requires
from app.security.host_gate import HostGate
from app.version import VERSION

bp = APIBlueprint("system", __name__, tag="System")


class Health(BaseModel):
    """Whether what runs report can be stored."""

    status: str
    trouble: str | None = None


class Limits(BaseModel):
    """What the server was set up for."""

    max_runs: int
    max_sockets: int
    threads: int
    stop_grace_s: float


class Server(BaseModel):
    """The server's own facts; ``time`` lets a browser correct its clock."""

    version: str
    time: float
    pid: int
    sockets: int
    limits: Limits


@bp.get("/healthz")
@bp.output(Health)
@bp.doc(summary="Whether the server is well", responses={503: "Nothing can be stored now"})
@public
def healthz() -> ResponseReturnValue:
    """200 while events can be stored, else 503 with the reason."""
    trouble = container().store.trouble
    if trouble is None:
        return jsonify({"status": "ok", "trouble": None})
    return jsonify({"status": "trouble", "trouble": trouble}), 503


@bp.get("/api/server")
@bp.output(Server)
@bp.doc(summary="Version, clock and limits of the server", responses=[401])
@requires("viewer")
def server() -> dict[str, Any]:
    """Facts for the page's footer and for scripts."""
    settings = container().settings
    gate = current_app.wsgi_app
    return {
        "version": VERSION,
        "time": time.time(),
        "pid": os.getpid(),
        "sockets": gate.num_sockets if isinstance(gate, HostGate) else 0,
        "limits": {
            "max_runs": settings.max_runs,
            "max_sockets": settings.max_sockets,
            "threads": settings.threads,
            "stop_grace_s": settings.stop_grace_s,
        },
    }
