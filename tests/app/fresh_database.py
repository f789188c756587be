"""A database of the newest shape: the migrations run once in a process, every test gets a copy."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from app.store.connections import create_private_file
from app.store.schema import upgrade


def fresh_database(path: Path) -> str:
    """The URL of the database at ``path``; an empty one of the newest shape is put there if none is."""
    if not path.exists():
        create_private_file(path)
        path.write_bytes(_migrated())
    return f"sqlite:///{path}"


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "signalbox.db"
        upgrade(f"sqlite:///{path}")
        return path.read_bytes()
