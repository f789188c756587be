"""One server per instance folder, one per port; both are said in a line that helps."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from pathlib import Path
from typing import Final

import psutil

from app.config import Settings

LOCK_NAME: Final = "server.lock"
ORPHAN_WAIT_S: Final = 8.0  # how long a worker whose parent was killed may need to end


class InstanceTaken(Exception):
    """Another server uses this instance folder."""


class PortTaken(Exception):
    """Somebody listens on the port already."""


class InstanceLock:
    """Held, by the kernel, until this process and its worker have ended."""

    def __init__(self, instance: Path) -> None:
        self._path = instance / LOCK_NAME
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock; waits only for the leftover worker of a server that was killed.

        Raises:
            InstanceTaken: a living server has it.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        give_up_at = time.monotonic() + ORPHAN_WAIT_S
        while not _lock(descriptor):
            holder = _holder(self._path)
            if time.monotonic() >= give_up_at or (holder is not None and psutil.pid_exists(holder)):
                os.close(descriptor)
                raise InstanceTaken(
                    f"another server (pid {holder or 'unknown'}) uses {self._path.parent}: "
                    "stop it, or set SIGNALBOX_INSTANCE to another folder"
                )
            time.sleep(0.1)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def check_port(settings: Settings) -> None:
    """Make sure that the port is free.

    Raises:
        PortTaken: it is not; the message names who has it, where the system tells.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as exc:
            raise PortTaken(
                f"cannot listen on {settings.host} port {settings.port}: {exc.strerror}"
                f"{_owner(settings.port)}; stop what listens there, or set SIGNALBOX_PORT to another port"
            ) from None


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _owner(port: int) -> str:
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
                return f" (pid {connection.pid}, {psutil.Process(connection.pid).name()})"
    except (psutil.Error, OSError):
        pass  # not allowed to look; the port alone must do
    return ""
