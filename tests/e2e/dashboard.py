"""A real dashboard on a free port with a temporary instance, and a client of its API."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from app.config import Settings, config_file
from app.domain.callers import Scope
from app.server.login_links import api_token, login_link
from tests.waiting import wait_for
from trainer.protocol.run_folder import RunPaths

ROOT = Path(__file__).resolve().parents[2]
LIVELY: Final[dict[str, Any]] = {
    "batch_size": 32,
    "num_buckets": 4096,
    "dim": 32,
    "hidden_dim": 32,
    "num_epochs": 10_000,
    "num_probes": 20,
    "eval_every": 200,
    "checkpoint_every": 200,
    "device": "cpu",
}
"""A small model that trains until somebody stops it."""
FINISHED_STEPS: Final = 60


@dataclass(frozen=True)
class Answer:
    """Status, JSON body (None where there is none) and headers of a response."""

    status: int
    body: Any
    headers: dict[str, str]


class Dashboard:
    """Starts, kills and restarts ``wsgi.py``, and talks to it as a script with an owner token would."""

    def __init__(self, instance: Path, *, max_runs: int = 2, **variables: str) -> None:
        self.instance = instance
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = instance.parent / f"{instance.name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._token = ""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SIGNALBOX_")}
        self._environment = kept | {
            "SIGNALBOX_PORT": str(self.port),
            "SIGNALBOX_INSTANCE": str(instance),
            "SIGNALBOX_MAX_RUNS": str(max_runs),
            "SIGNALBOX_CONFIG": str(instance / "none.toml"),
            **variables,
        }

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "wsgi.py"],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_for(self._is_answering, what=lambda: f"dashboard; it says:\n{self.log}", timeout_s=60)
        self._token = self._token or api_token(self._settings, scope=Scope.OWNER, label="")

    def login_link(self) -> str:
        """A fresh one-time link."""
        return login_link(self._settings)

    @property
    def token(self) -> str:
        """Of its owner."""
        return self._token

    @property
    def log(self) -> str:
        """What the server has printed."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def printed_link(self) -> str:
        """The login link that the newest start has printed."""
        return str(re.findall(r"http://\S+/login#code=\S+", self.log)[-1])

    @property
    def server_pids(self) -> list[int]:
        """The server and its worker; the supervisors are nobody's property."""
        assert self._process is not None
        parent = psutil.Process(self._process.pid)
        workers = [child for child in parent.children() if "supervise" not in child.cmdline()]
        return [parent.pid, *(worker.pid for worker in workers)]

    def kill_server(self) -> None:
        """SIGKILL for the server and its worker; runs are left alone."""
        assert self._process is not None
        for pid in self.server_pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(timeout=10)
        self._process = None

    def stop_server(self) -> int:
        """SIGTERM for the server; returns its exit code."""
        assert self._process is not None
        self._process.terminate()
        code = self._process.wait(timeout=30)
        self._process = None
        return code

    def close(self) -> None:
        """End the server and every process of its runs."""
        if self._process is not None and self._process.poll() is None:
            self.kill_server()
        for process in psutil.process_iter(["cmdline"]):
            command = process.info["cmdline"] or []
            if "trainer" in " ".join(command) and any(str(self.instance) in part for part in command):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()

    def request(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Send one request; an error status is an answer too."""
        request = urllib.request.Request(  # noqa: S310 - our own server
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            | {name.replace("_", "-"): value for name, value in headers.items()},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
                return _answer(response.status, response.read(), response.headers)
        except urllib.error.HTTPError as error:
            with error:
                return _answer(error.code, error.read(), error.headers)

    def get(self, path: str) -> Any:
        """The body of a successful GET."""
        answer = self.request("GET", path)
        assert answer.status == 200, f"GET {path}: {answer.status} {answer.body}"
        return answer.body

    def create_run(
        self, dataset: str, policy: dict[str, Any] | None = None, /, *, name: str = "a run", **params: object
    ) -> str:
        """Queue a lively run; returns its id."""
        body = {
            "recipe": "two_tower", "dataset": dataset, "name": name, "params": LIVELY | params,
            "policy": policy or {},
        }  # fmt: skip
        answer = self.request("POST", "/api/runs", body)
        assert answer.status == 201, f"{answer.status} {answer.body}"
        return str(answer.body["id"])

    def run(self, run_id: str) -> dict[str, Any]:
        """The run's JSON."""
        run: dict[str, Any] = self.get(f"/api/runs/{run_id}")
        return run

    def order(self, run_id: str, order: str) -> Answer:
        """``POST /api/runs/ID/ORDER``."""
        return self.request("POST", f"/api/runs/{run_id}/{order}")

    def wait_for_state(self, run_id: str, *states: str, timeout_s: float = 60) -> dict[str, Any]:
        """Wait until the run is in one of ``states``; returns its JSON."""

        def look() -> dict[str, Any] | None:
            run = self.run(run_id)
            return run if run["state"] in states else None

        return wait_for(
            look, what=lambda: f"{' or '.join(states)}: {self.describe(run_id)}", timeout_s=timeout_s
        )

    def wait_for_step(self, run_id: str, step: int, *, timeout_s: float = 60) -> dict[str, Any]:
        """Wait until the run has reached ``step``; returns its JSON."""

        def look() -> dict[str, Any] | None:
            run = self.run(run_id)
            assert run["state"] != "failed", self.describe(run_id)
            return run if run["step"] >= step else None

        return wait_for(look, what=lambda: f"step {step}: {self.describe(run_id)}", timeout_s=timeout_s)

    def describe(self, run_id: str) -> str:
        """The run and the end of its outputs, for a failing test's message."""
        paths = self.paths(run_id)
        files = [paths.supervisor_log, *sorted(paths.root.glob("attempts/*/output.log"))]
        ends = [
            f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in files if path.exists()
        ]
        return "\n".join([json.dumps(self.run(run_id)), *ends])

    def paths(self, run_id: str) -> RunPaths:
        """The run's folder."""
        return RunPaths(self.instance / "runs" / run_id)

    def supervisor_pid(self, run_id: str) -> int:
        """The process that watches the run."""
        return int(json.loads(self.paths(run_id).supervisor.read_text())["pid"])

    def trainer_pid(self, run_id: str) -> int:
        """The process of the newest attempt."""
        attempts = self.get(f"/api/runs/{run_id}/attempts")["attempts"]
        return int(max(attempts, key=lambda attempt: attempt["attempt"])["pid"])

    def _is_answering(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the dashboard ended: {self.log}"
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=2) as response:  # noqa: S310
                return bool(response.status == 200)
        except (OSError, http.client.HTTPException):
            return False

    @property
    def _settings(self) -> Settings:
        """The server's; what `python -m app` does with them is done here, without a process for each word."""
        return Settings.from_env(self._environment, toml_path=config_file(self._environment))


def free_port() -> int:
    """A TCP port of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answer(status: int, content: bytes, headers: Any) -> Answer:
    is_json = content and "json" in headers.get("Content-Type", "")
    return Answer(status, json.loads(content) if is_json else None, dict(headers))
