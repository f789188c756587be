"""Packets as text, byte for byte as the server's own library writes and reads them."""

from __future__ import annotations

import pytest
from socketio import packet as theirs

from trainer.supervisor import packets
from trainer.supervisor.packets import Kind, Packet


def encoded(kind: int, body: object, *, number: int | None = None, namespace: str = "/uplink") -> str:
    """The packet as the server sends it, in a message of Engine.IO."""
    text = theirs.Packet(kind, data=body, namespace=namespace, id=number).encode()
    return f"4{text}"


def decoded(text: str) -> theirs.Packet:
    assert text[0] == "4"
    return theirs.Packet(encoded_packet=text[1:])


def test_what_we_send_the_server_understands() -> None:
    asked = decoded(packets.connect({"run": "run-1", "token": "t,[1]"}))
    assert (asked.packet_type, asked.namespace) == (theirs.CONNECT, "/uplink")
    assert asked.data == {"run": "run-1", "token": "t,[1]"}
    said = decoded(packets.event("batch", {"text": "größer, [2]"}, number=17))
    assert (said.packet_type, said.id) == (theirs.EVENT, 17)
    assert said.data == ["batch", {"text": "größer, [2]"}]
    assert decoded(packets.event("status", {})).id is None
    answered = decoded(packets.acknowledgement(3, {"ok": True}))
    assert (answered.packet_type, answered.id, answered.data) == (theirs.ACK, 3, [{"ok": True}])
    assert decoded(packets.goodbye()).packet_type == theirs.DISCONNECT


def test_what_the_server_sends_we_understand() -> None:
    assert packets.parse('0{"pingInterval":25000}') == Packet(Kind.OPEN, body={"pingInterval": 25000})
    assert packets.parse("2") == Packet(Kind.PING)
    assert packets.parse("1") == Packet(Kind.CLOSE)
    admitted = packets.parse(encoded(theirs.CONNECT, {"sid": "x"}))
    assert admitted == Packet(Kind.CONNECT, body={"sid": "x"})
    answer = packets.parse(encoded(theirs.ACK, [{"have": 5}], number=12))
    assert answer == Packet(Kind.ACK, 12, [{"have": 5}])
    order = packets.parse(encoded(theirs.EVENT, ["control", {"command": "stop"}], number=0))
    assert order == Packet(Kind.EVENT, 0, ["control", {"command": "stop"}])
    refusal = packets.parse(encoded(theirs.CONNECT_ERROR, {"message": "wrong token"}))
    assert refusal == Packet(Kind.REFUSAL, body={"message": "wrong token"})
    assert packets.parse(encoded(theirs.DISCONNECT, None)) == Packet(Kind.DISCONNECT)


@pytest.mark.parametrize(
    "text", ["6", "", "40", '42["control",{}]', "42/uplinks,[]", encoded(theirs.EVENT, ["x"], namespace="/y")]
)
def test_what_is_not_for_the_uplink_is_of_no_concern(text: str) -> None:
    assert packets.parse(text).kind is Kind.OTHER


def test_a_malformed_packet_is_an_error_of_the_peer() -> None:
    with pytest.raises(ValueError, match="unexpected end"):
        packets.parse("42/uplink,[")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:5000", "ws://127.0.0.1:5000/socket.io/?transport=websocket&EIO=4"),
        ("https://box.example/", "wss://box.example/socket.io/?transport=websocket&EIO=4"),
    ],
)
def test_the_address_of_the_websocket_follows_from_that_of_the_dashboard(url: str, expected: str) -> None:
    assert packets.address(url) == expected


@pytest.mark.parametrize("url", ["", "127.0.0.1:5000", "ftp://box", "http://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="begins with http"):
        packets.address(url)
