"""A dashboard reduced to its promises towards supervisors, on a real websocket, made to be killed.

What it acknowledges it has appended to a file before, and it knows nothing
but that file after a restart.  With faults it drops connections, swallows
acknowledgements and refuses batches, each with the given probability.

``python -m tests.children.dashboard PORT FOLDER [FAULTS SEED]`` runs it as a process.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import queue
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import socketio
from werkzeug.serving import BaseWSGIServer, make_server

from trainer.protocol.batches import Batch
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import UPLINK_NAMESPACE, Stream

TOKEN = "a run token"


class Dashboard:
    """Accepts one run's hello, batches, output, status and snapshots."""

    def __init__(self, folder: Path, *, faults: float = 0.0, seed: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._faults = faults
        self._random = random.Random(seed)
        self._log = os.open(folder / "accepted.jsonl", os.O_RDWR | os.O_APPEND | os.O_CREAT)
        self.have: dict[str, int] = {stream.value: 0 for stream in Stream}
        self.output: dict[str, int] = {}
        self.statuses: list[dict[str, Any]] = []
        self.hellos: list[dict[str, Any]] = []
        self.ends: list[dict[str, Any]] = []
        self.refuse: Callable[[Batch], str | None] = lambda batch: None
        for entry in accepted(folder):
            self._note(entry)
        self.sio = socketio.Server(
            async_mode="threading",
            async_handlers=False,
            cors_allowed_origins=[],
            max_http_buffer_size=1 << 20,
        )
        for event, handler in (
            ("connect", self._on_connect),
            ("hello", self._on_hello),
            ("batch", self._on_batch),
            ("output", self._on_output),
            ("status", self._on_status),
            ("end", self._on_end),
        ):
            self.sio.on(event, handler, namespace=UPLINK_NAMESPACE)
        self._server: BaseWSGIServer | None = None

    def start(self, port: int = 0) -> str:
        """Serve on 127.0.0.1 in a thread; returns the address."""
        app = socketio.WSGIApp(self.sio, self._http)
        self._server = make_server("127.0.0.1", port, app, threaded=True)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Serve no more."""
        for sid in list(self.sio.manager.get_participants(UPLINK_NAMESPACE, None)):
            self.sio.disconnect(sid[0], namespace=UPLINK_NAMESPACE)
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        os.close(self._log)

    def control(self, command: str) -> Any:
        """Send an order to the connected supervisor and return its answer."""
        sid = next(sid for sid, _ in self.sio.manager.get_participants(UPLINK_NAMESPACE, None))
        answers: queue.Queue[Any] = queue.Queue()
        self.sio.emit(
            "control", {"command": command}, to=sid, namespace=UPLINK_NAMESPACE, callback=answers.put
        )
        return answers.get(timeout=5)

    def _on_connect(self, sid: str, environ: dict[str, Any], auth: Any) -> None:
        if not isinstance(auth, dict) or auth.get("token") != TOKEN:
            raise ConnectionRefusedError("wrong token")

    def _on_hello(self, sid: str, message: dict[str, Any]) -> dict[str, Any]:
        self.hellos.append(message)
        return {"have": {**self.have, "output": dict(self.output)}}

    def _on_batch(self, sid: str, message: Any) -> Any:
        fault = self._random.random() < self._faults
        if fault and self._random.random() < 0.3:
            self.sio.disconnect(sid, namespace=UPLINK_NAMESPACE)
            return None
        try:
            batch = Batch.from_wire(message)
        except ProtocolError as exc:
            return {"error": {"code": "invalid", "message": str(exc)}, "have": self.have[message["stream"]]}
        have = self.have[batch.stream]
        refusal = self.refuse(batch)
        if refusal is not None:
            return {"error": {"code": "invalid", "message": refusal}, "have": have}
        if fault and self._random.random() < 0.5:
            return {"error": {"code": "busy", "message": "later"}, "have": have}
        if batch.first != have + 1:
            return {"error": {"code": "gap", "message": f"have {have}, got {batch.first}"}, "have": have}
        self._accept({"batch": message})
        if fault:  # accepted, but the supervisor never learns of it
            self.sio.disconnect(sid, namespace=UPLINK_NAMESPACE)
        return {"have": self.have[batch.stream]}

    def _on_output(self, sid: str, message: dict[str, Any]) -> dict[str, Any]:
        have = self.output.get(str(message["attempt"]), 0)
        if message["offset"] == have:
            self._accept({"output": message})
        return {"have": self.output.get(str(message["attempt"]), 0)}

    def _on_status(self, sid: str, message: dict[str, Any]) -> dict[str, Any]:
        self.statuses.append(message)
        return {}

    def _on_end(self, sid: str, message: dict[str, Any]) -> dict[str, Any]:
        self.ends.append(message)
        return {}

    def _http(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if environ.get("HTTP_AUTHORIZATION") != f"Bearer {TOKEN}":
            start_response("401 Unauthorized", [])
            return []
        if self._random.random() < self._faults:
            start_response("503 Service Unavailable", [])
            return []
        name = environ["PATH_INFO"].rsplit("/", 1)[-1]
        (self._folder / f"snapshot-{name}").write_bytes(body)
        start_response("204 No Content", [])
        return []

    def _accept(self, entry: dict[str, Any]) -> None:
        os.write(self._log, json.dumps(entry).encode() + b"\n")
        self._note(entry)

    def _note(self, entry: dict[str, Any]) -> None:
        if "batch" in entry:
            self.have[entry["batch"]["stream"]] = entry["batch"]["last"]
        else:
            message = entry["output"]
            num_bytes = len(base64.b64decode(message["text"]))
            self.output[str(message["attempt"])] = message["offset"] + num_bytes


def accepted(folder: Path) -> list[dict[str, Any]]:
    """Everything that was ever acknowledged, in order; a torn last line was not."""
    path = folder / "accepted.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def batches_of(folder: Path, stream: Stream) -> list[Batch]:
    """The accepted batches of one stream."""
    found = [Batch.from_wire(entry["batch"]) for entry in accepted(folder) if "batch" in entry]
    return [batch for batch in found if batch.stream is stream]


def output_of(folder: Path, attempt: int) -> bytes:
    """The accepted output of one attempt."""
    messages = [entry["output"] for entry in accepted(folder) if "output" in entry]
    return b"".join(base64.b64decode(m["text"]) for m in messages if m["attempt"] == attempt)


def main() -> None:
    """Serve until killed."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    port, folder = int(sys.argv[1]), Path(sys.argv[2])
    faults, seed = (float(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 4 else (0.0, 0)
    # a torn last line was never acknowledged
    log = folder / "accepted.jsonl"
    if log.exists():
        content = log.read_bytes()
        os.truncate(log, content.rfind(b"\n") + 1)
    Dashboard(folder, faults=faults, seed=seed).start(port)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
