"""A port is free, ours, or a stranger's."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainer.environment.doctor.port import look
from trainer.environment.doctor.surroundings import Surroundings


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers every request with the server's ``body``."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.body)  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[http.server.HTTPServer]:
    with http.server.HTTPServer(("127.0.0.1", 0), Answers) as opened:
        thread = threading.Thread(target=opened.serve_forever, args=(0.01,))
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


def test_a_port_that_a_signalbox_serves_is_fine_and_another_server_is_a_problem(
    server: http.server.HTTPServer, tmp_path: Path
) -> None:
    surroundings = Surroundings(tmp_path, port=server.server_port)
    server.body = b'{"status": "ok", "trouble": null}'  # type: ignore[attr-defined]
    (ours,) = look(surroundings)
    assert (ours.verdict, "Signalbox is serving" in ours.found) == ("ok", True)
    server.body = b"<h1>something else</h1>"  # type: ignore[attr-defined]
    (theirs,) = look(surroundings)
    assert theirs.verdict == "problem"
    assert "SIGNALBOX_PORT" in theirs.remedy


def test_a_free_port_is_fine(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    (check,) = look(Surroundings(tmp_path, port=port))
    assert (check.verdict, check.found) == ("ok", f"Port {port} is free.")
