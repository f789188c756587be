"""What an unauthenticated peer may cost the server: nothing that lasts."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from app.sockets.driver import MAX_MESSAGE_BYTES
from tests.app.raw_websocket import BINARY, CLOSE, PING, TEXT, RawWebSocket, frame
from tests.app.serving import Dashboard, wait_for

pytestmark = pytest.mark.process
MIB = 1024 * 1024
Dial = Callable[..., RawWebSocket]


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    running = Dashboard(tmp_path_factory.mktemp("instance"), SIGNALBOX_MAX_SOCKETS="16").start()
    yield running
    running.close()


@pytest.fixture
def dial(dashboard: Dashboard) -> Iterator[Dial]:
    """Opens connections and closes them after the test."""
    opened: list[RawWebSocket] = []

    def connect(extensions: str = "") -> RawWebSocket:
        opened.append(RawWebSocket(dashboard.port, extensions=extensions))
        return opened[-1]

    yield connect
    for peer in opened:
        peer.close()


def peak_bytes(process: psutil.Process) -> int:
    """The most memory the process ever held."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def test_a_50_mib_frame_before_login_is_cut_off_unbuffered(dashboard: Dashboard, dial: Dial) -> None:
    warm_up = dial()
    warm_up.send(frame(TEXT, b"4" + b"x" * (MAX_MESSAGE_BYTES + 1)))
    assert warm_up.is_closed_by_peer()
    worker = dashboard.worker()
    before = peak_bytes(worker)
    peer = dial()
    peer.send(frame(TEXT, b"4" + b"x" * (50 * MIB)))
    assert peer.is_closed_by_peer()
    assert peak_bytes(worker) - before < 4 * MIB
    assert dashboard.is_up()


def test_a_message_in_many_fragments_counts_as_one(dashboard: Dashboard, dial: Dial) -> None:
    before = peak_bytes(dashboard.worker())
    peer = dial()
    piece = b"x" * (64 * 1024)
    peer.send(frame(TEXT, b"4" + piece, fin=False) + frame(0, piece, fin=False) * 800)
    assert peer.is_closed_by_peer()
    assert peak_bytes(dashboard.worker()) - before < 6 * MIB


def test_a_compressed_bomb_bursts_outside(dashboard: Dashboard, dial: Dial) -> None:
    before = peak_bytes(dashboard.worker())
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = squeezer.compress(b"4" + b"x" * (200 * MIB)) + squeezer.flush(zlib.Z_SYNC_FLUSH)
    peer = dial("permessage-deflate")
    peer.send(frame(TEXT, bomb[:-4], rsv=4))
    assert peer.is_closed_by_peer()
    assert peak_bytes(dashboard.worker()) - before < 40 * MIB


@pytest.mark.parametrize(
    "garbage",
    [
        frame(TEXT, b""),
        frame(TEXT, b"x"),
        frame(TEXT, b"9"),
        frame(TEXT, b"\xff\xfe"),
        frame(TEXT, b"4{"),
        frame(TEXT, b"42"),
        frame(TEXT, b"42/uplink,[]"),
        frame(TEXT, b'42/uplink,["hello"]'),
        frame(TEXT, b"4" + b"9" * 500),
        frame(TEXT, b'451-["x",{"_placeholder":true,"num":0}]'),
        frame(TEXT, b'45999999999-["x"]'),
        frame(TEXT, b'461-["x"]'),
        frame(TEXT, b"b4AAAA"),
        frame(TEXT, b"40/nowhere,"),
        frame(TEXT, b"40" + b"[" * 100_000),
        frame(BINARY, b"binary"),
        frame(0x3, b"reserved"),
        frame(TEXT, b"2probe", rsv=2),
        frame(TEXT, b"2", masked=False),
        frame(0x0, b"continuation of nothing"),
        frame(PING, b"x" * 126),
        frame(PING, b"x", fin=False),
        frame(CLOSE, b"\x03"),
        frame(CLOSE, b"\x03\xed"),
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(range(256)),
    ],
)
def test_garbage_ends_its_own_connection_only(dashboard: Dashboard, dial: Dial, garbage: bytes) -> None:
    peer = dial()
    peer.send(garbage)
    peer.send(frame(CLOSE, b"\x03\xe8"))
    assert peer.is_closed_by_peer()
    assert dashboard.is_up()
    assert "Traceback" not in dashboard.output


def test_sockets_over_the_cap_get_a_503_and_http_goes_on(dashboard: Dashboard, dial: Dial) -> None:
    token = dashboard.token()
    wait_for(lambda: num_sockets(dashboard, token) == 0, what="the earlier sockets to be gone")
    peers: list[RawWebSocket] = []
    while len(peers) <= 16:
        peers.append(dial())
        if "101" not in peers[-1].status:
            break
    assert len(peers) == 17
    assert "503" in peers[-1].status
    assert dashboard.request("GET", "/api/runs", token=token)[0] == 200
    for peer in peers[:8]:
        peer.close()
    wait_for(lambda: num_sockets(dashboard, token) == 8, what="the closed sockets to make room")
    wait_for(lambda: num_sockets(dashboard, token) == 0, timeout_s=30, what="who never logs in to be put out")


def num_sockets(dashboard: Dashboard, token: str) -> int:
    number: int = dashboard.request("GET", "/api/server", token=token)[1]["sockets"]
    return number
