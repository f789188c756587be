"""Whether the dashboard's port is free, or held by a Signalbox, or by a stranger."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Final

import psutil

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Port of the dashboard"
ANSWER_LIMIT_S: Final = 3.0
MAX_ANSWER_BYTES: Final = 65_536
AIRPLAY: Final = (5000, 7000)
WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not listened on


def look(surroundings: Surroundings) -> list[Check]:
    """Try to listen; where that fails, ask who is there."""
    host, port = surroundings.host, surroundings.port
    trouble = _cannot_listen(host, port)
    if trouble is None:
        return [Check("port", TITLE, Verdict.OK, f"Port {port} is free.", "", {"host": host, "port": port})]
    return [
        judge(surroundings, trouble=trouble, is_ours=answers_like_signalbox(host, port), owner=_owner(port))
    ]


def judge(surroundings: Surroundings, *, trouble: str, is_ours: bool, owner: tuple[int, str] | None) -> Check:
    """Judge a port that cannot be listened on; ``owner`` is pid and name where the system tells."""
    host, port = surroundings.host, surroundings.port
    details = {"host": host, "port": port, "pid": owner[0] if owner else None, "trouble": trouble}
    by = f" (pid {owner[0]}, {owner[1]})" if owner else ""
    if is_ours:
        return Check("port", TITLE, Verdict.OK, f"Signalbox is serving on port {port}{by}.", "", details)
    found = f"Port {port} on {host} cannot be used: {trouble}{by}."
    remedy = "Stop what listens there, or set SIGNALBOX_PORT to another port."
    if surroundings.platform == "darwin" and port in AIRPLAY:
        remedy = f"AirPlay uses {port} on macOS: set SIGNALBOX_PORT to another port, such as 8421."
    return Check("port", TITLE, Verdict.PROBLEM, found, remedy, details)


def answers_like_signalbox(host: str, port: int) -> bool:
    """Whether ``/healthz`` answers as a Signalbox does, well or in trouble."""
    connection = http.client.HTTPConnection(WILDCARDS.get(host, host), port, timeout=ANSWER_LIMIT_S)
    try:
        connection.request("GET", "/healthz")
        body = json.loads(connection.getresponse().read(MAX_ANSWER_BYTES))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return isinstance(body, dict) and body.get("status") in ("ok", "trouble") and "trouble" in body


def _cannot_listen(host: str, port: int) -> str | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((host, port))
        except OSError as exc:
            return (exc.strerror or str(exc)).lower()
    return None


def _owner(port: int) -> tuple[int, str] | None:
    try:
        for connection in psutil.net_connections(kind="tcp"):
            is_it = connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
            if is_it and connection.pid:
                return int(connection.pid), str(psutil.Process(connection.pid).name())
    except (psutil.Error, OSError):
        return None  # not allowed to look
    return None
