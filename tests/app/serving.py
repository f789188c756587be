"""A real dashboard process for tests, and real clients of it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import psutil

ROOT: Final = Path(__file__).parents[2]
START_TIMEOUT_S: Final = 60


def free_port() -> int:
    """A port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def wait_for(condition: Callable[[], Any], *, timeout_s: float = 20, what: str = "the condition") -> Any:
    """Ask again and again until ``condition`` answers something true; returns that."""
    give_up_at = time.monotonic() + timeout_s
    while time.monotonic() < give_up_at:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {timeout_s} s in vain for {what}")


class Dashboard:
    """``python wsgi.py`` on a free port with an instance folder of its own."""

    def __init__(self, instance: Path, *, port: int | None = None, **variables: str) -> None:
        self.instance = instance
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SIGNALBOX_")},
            "SIGNALBOX_INSTANCE": str(instance),
            "SIGNALBOX_PORT": str(self.port),
            "SIGNALBOX_CONFIG": str(instance / "none.toml"),
            **variables,
        }
        self.process: subprocess.Popen[str] | None = None
        self.lines: list[str] = []

    def start(self, *arguments: str) -> Dashboard:
        """Start it and wait until it answers."""
        self.lines = []
        self.process = self.spawn(*arguments)
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()
        wait_for(self._has_started, timeout_s=START_TIMEOUT_S, what="the dashboard")
        return self

    def spawn(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the process and nothing more."""
        return subprocess.Popen(
            [sys.executable, str(ROOT / "wsgi.py"), *arguments],
            cwd=ROOT,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self.lines.append(line.rstrip("\n"))

    @property
    def output(self) -> str:
        """What it has printed and logged so far."""
        return "\n".join(self.lines)

    def _has_started(self) -> bool:
        return self.is_up() and "Log in within" in self.output  # an earlier server may still answer

    def is_up(self) -> bool:
        """Whether it answers."""
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"the dashboard ended with {self.process.returncode}:\n{self.output}")
        try:
            return self.request("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def worker(self) -> psutil.Process:
        """The process that serves."""
        assert self.process is not None
        workers = psutil.Process(self.process.pid).children()
        serving = [worker for worker in workers if "supervise" not in worker.cmdline()]
        return serving[0]

    def terminate(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def close(self) -> None:
        """End it, whatever it takes; its runs live on."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            for child in psutil.Process(self.process.pid).children():
                if "supervise" not in child.cmdline():
                    child.kill()
            self.process.kill()
            self.process.wait(15)

    def run_app(self, *arguments: str) -> str:
        """Standard output of ``python -m app …`` for the same instance."""
        command = [sys.executable, "-m", "app", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.environ, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def token(self, scope: str = "owner") -> str:
        """A fresh API token."""
        return self.run_app("token", "create", "--scope", scope)

    def login_code(self) -> str:
        """The code of the login link it printed at its start."""
        found = wait_for(lambda: re.search(r"/login#code=(\S+)", self.output), what="the login link")
        code: str = found[1]
        return code

    def request(
        self,
        method: str,
        path: str,
        *,
        token: str | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any, Any]:
        """One HTTP request: status, body (parsed where it is JSON), headers; follows no redirect."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        payload = None
        if body is not None:
            payload = body if isinstance(body, bytes) else orjson.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(self.url + path, data=payload, headers=sent, method=method)  # noqa: S310
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            with opener.open(request, timeout=30) as response:
                return response.status, _parsed(response), response.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _parsed(error), error.headers


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _parsed(response: Any) -> Any:
    content = response.read()
    if "json" in (response.headers.get("Content-Type") or ""):
        return orjson.loads(content)
    return content.decode("utf-8", "replace")
