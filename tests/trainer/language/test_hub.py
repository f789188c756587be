"""What is told of a hub model before a run: from the cache, from the hub, or from neither."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.language.folders import whole_folder
from trainer.language.hub import prospect
from trainer.language.sources import ModelSource

KNOWN: dict[str, tuple[int, Any]] = {
    "/api/models/good/one": (200, {"siblings": [{"rfilename": "model.safetensors"}]}),
    "/api/models/only/pickles": (200, {"siblings": [{"rfilename": "pytorch_model.bin"}]}),
    "/api/models/odd/answer": (200, [1, 2]),
    "/api/models/closed/one": (401, {}),
    "/api/models/broken/hub": (503, {}),
}


class Hub(BaseHTTPRequestHandler):
    """Answers as the hub does."""

    def do_GET(self) -> None:
        status, told = KNOWN.get(self.path, (404, {}))
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield address
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("name", "trouble", "doubt"),
    [
        ("good/one", "", ""),
        ("only/pickles", "has no safetensors", ""),
        ("no/such", "the hub has no model no/such", ""),
        ("odd/answer", "", "did not say which files"),
        ("closed/one", "", "with a token"),
        ("broken/hub", "", "status 503"),
    ],
)
def test_the_hub_is_asked_what_it_has(hub: str, name: str, trouble: str, doubt: str) -> None:
    found = prospect(ModelSource("hub", name))
    assert found.source.kind == "hub"
    assert trouble in found.trouble
    assert doubt in found.doubt
    assert (bool(found.trouble), bool(found.doubt)) == (bool(trouble), bool(doubt))


def test_a_hub_that_cannot_be_reached_is_trouble_before_anything_starts(
    hub: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert "the hub cannot be reached" in prospect(ModelSource("hub", "good/one")).trouble
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")
    assert "is no address" in prospect(ModelSource("hub", "good/one")).doubt
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "HF_HUB_OFFLINE is set" in prospect(ModelSource("hub", "good/one")).trouble


def test_a_model_in_the_cache_is_a_folder_and_needs_no_hub(
    hub: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    kept = tmp_path / "hf" / "hub" / "models--mine--kept"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("abc\n")
    snapshot = kept / "snapshots" / "abc"
    snapshot.parent.mkdir()
    whole_folder(snapshot)
    found = prospect(ModelSource("hub", "mine/kept"))
    assert (found.source.kind, found.source.folder, found.trouble) == ("folder", snapshot, "")
    weights = snapshot / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert "is cut off" in prospect(ModelSource("hub", "mine/kept")).doubt


def test_other_sources_are_left_as_they_are(tmp_path: Path) -> None:
    source = ModelSource("scratch", "scratch")
    assert prospect(source).source is source
