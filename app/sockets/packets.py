"""Socket.IO packets are parsed here before anybody acts on them.

python-socketio parses while it acts and logs a traceback for every malformed
packet.  Here a malformed one ends its connection with one line in the log.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import socketio
from socketio import packet as packets

logger: Final = logging.getLogger("signalbox.sockets")


class Malformed(ValueError):
    """No packet that a client of ours would send."""


def install(server: socketio.Server) -> None:
    """Put the parser between engine.io and ``server``."""

    def on_message(connection_id: str, message: object) -> None:
        try:
            packet = parse(message)
        except Malformed as exc:
            logger.warning("malformed packet, connection closed: %s", exc)
            _hang_up(server, connection_id)
        else:
            _dispatch(server, connection_id, packet)

    server.eio.on("message", on_message)


def _hang_up(server: socketio.Server, connection_id: str) -> None:
    connection = server.eio.sockets.get(connection_id)
    if connection is not None:
        connection.close(wait=False)  # waiting for a queue that nobody drains any more would be for ever


def parse(message: object) -> packets.Packet:
    """Decode one Socket.IO packet and check its shape.

    Raises:
        Malformed: it is none, or of a kind that clients do not send.
    """
    if not isinstance(message, str):
        raise Malformed("not text")
    try:
        packet = packets.Packet(encoded_packet=message)
    except (ValueError, TypeError, IndexError, RecursionError) as exc:
        raise Malformed(str(exc)[:100]) from None
    if packet.packet_type not in _CHECKS or not _CHECKS[packet.packet_type](packet):
        raise Malformed(f"unexpected packet of type {packet.packet_type}")
    return packet


def _is_event(packet: packets.Packet) -> bool:
    return (
        isinstance(packet.data, list)
        and len(packet.data) <= 2
        and bool(packet.data)
        and _is_name(packet.data[0])
    )


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name not in ("connect", "disconnect")  # those are not for clients to say


def _is_answer(packet: packets.Packet) -> bool:
    return isinstance(packet.data, list) and packet.id is not None


_CHECKS: Final[dict[int, Any]] = {
    packets.CONNECT: lambda packet: True,
    packets.DISCONNECT: lambda packet: True,
    packets.EVENT: _is_event,
    packets.ACK: _is_answer,
}


def _dispatch(server: socketio.Server, connection_id: str, packet: packets.Packet) -> None:
    if packet.packet_type == packets.CONNECT:
        server._handle_connect(connection_id, packet.namespace, packet.data)
    elif packet.packet_type == packets.DISCONNECT:
        server._handle_disconnect(connection_id, packet.namespace, server.reason.CLIENT_DISCONNECT)
    elif packet.packet_type == packets.EVENT:
        server._handle_event(connection_id, packet.namespace, packet.id, packet.data)
    else:
        server._handle_ack(connection_id, packet.namespace, packet.id, packet.data)
