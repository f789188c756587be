"""Databases, ports and web servers beside a training."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Signature

SIGNATURES: Final = (
    Signature(
        "sqlite_locked",
        r"database is locked",
        cause="Several processes wrote to one SQLite database, and one waited in vain.",
        remedy="Let one process write, with WAL mode and a busy time-out of at least 5 seconds.",
        source="https://www.sqlite.org/wal.html",
    ),
    Signature(
        "sqlite_thread",
        r"SQLite objects created in a thread can only be used in that same thread",
        cause="One SQLite connection was used by two threads.",
        remedy="Give each thread its own connection.",
        source="https://docs.python.org/3/library/sqlite3.html",
    ),
    Signature(
        "sqlite_corrupt",
        r"database disk image is malformed|file is not a database",
        cause="A SQLite database is damaged, or the file is none.",
        remedy="Restore it from a copy; PRAGMA quick_check tells whether a copy is whole.",
        source="https://www.sqlite.org/howtocorrupt.html",
    ),
    Signature(
        "port_in_use",
        r"Address already in use|\[Errno (?:48|98)\]|WinError 10048|Port \d+ is in use|EADDRINUSE",
        cause="Another program uses the port; on a Mac, AirPlay owns 5000 and 7000.",
        remedy="End the other program (an earlier run?), or choose another port.",
        source="https://github.com/pallets/flask/issues/4343",
        rank=6,
    ),
    Signature(
        "werkzeug_prod",
        r"Werkzeug web server is not designed to run in production",
        cause="Flask's development server refuses to run without a terminal.",
        remedy="Use a real server such as gunicorn, or allow_unsafe_werkzeug=True on your own machine.",
        source="https://github.com/miguelgrinberg/Flask-SocketIO/issues/1877",
    ),
    Signature(
        "engineio_packets",
        r"Too many packets in payload",
        cause="A client sent more messages at once than the Socket.IO server takes.",
        remedy="Send in batches, ten a second at most.",
        source="https://github.com/miguelgrinberg/python-engineio/issues/142",
    ),
)
