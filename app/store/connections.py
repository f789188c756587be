"""How a database is opened: the dialect's peculiarities live here and nowhere else.

SQLite: write-ahead log, ``synchronous=FULL`` (an acknowledged commit survives
a power cut), foreign keys on, transactions begun by us (``BEGIN IMMEDIATE``
for the writer, ``BEGIN`` for readers, so a read session sees one moment).
Only the writing connection runs checkpoints.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, QueuePool, StaticPool, create_engine, event, make_url

BUSY_TIMEOUT_MS: Final = 2_000
READ_LIMIT_S: Final = 5.0
_PAGES_PER_TIDY: Final = 2_000
_PROGRESS_OPCODES: Final = 200_000  # SQLite virtual-machine steps between two looks at the clock


def sqlite_path(url: URL) -> Path | None:
    """File of an SQLite URL; None for another database.

    Raises:
        ValueError: the URL is an in-memory database, which reader connections could not share.
    """
    if url.get_backend_name() != "sqlite":
        return None
    if not url.database or url.database == ":memory:":
        raise ValueError("an in-memory database cannot be shared; name a file: sqlite:////path/signalbox.db")
    return Path(url.database).absolute()


def create_private_file(path: Path) -> None:
    """Create ``path`` (0600) and its missing folders (0700); leave existing ones alone."""
    for folder in reversed([path.parent, *path.parent.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def writer_engine(database_url: str) -> Engine:
    """An engine for one connection that writes."""
    url = make_url(database_url)
    path = sqlite_path(url)
    if path is None:
        return create_engine(url, pool_size=1, max_overflow=0, pool_pre_ping=True)

    def connect() -> sqlite3.Connection:
        connection = _open(path)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA journal_size_limit=67108864")
        connection.execute("PRAGMA cache_size=-16384")
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    _begin_with(engine, "BEGIN IMMEDIATE")
    return engine


def reader_engine(database_url: str) -> Engine:
    """A pooled engine whose connections cannot write; statements end after ``READ_LIMIT_S``."""
    url = make_url(database_url)
    path = sqlite_path(url)
    if path is None:
        return create_engine(url, pool_size=16, max_overflow=48, pool_timeout=10, pool_pre_ping=True)

    def connect() -> sqlite3.Connection:
        connection = _open(path)
        connection.execute("PRAGMA query_only=ON")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute("PRAGMA mmap_size=268435456")
        connection.execute("PRAGMA cache_size=-4096")
        return connection

    # connections go around last in, first out: few stay warm, idle ones are not scanned
    engine = create_engine(
        "sqlite://",
        creator=connect,
        poolclass=QueuePool,
        pool_size=16,
        max_overflow=48,
        pool_timeout=10,
        pool_use_lifo=True,
    )
    _begin_with(engine, "BEGIN", limit_s=READ_LIMIT_S)
    return engine


def migration_engine(database_url: str) -> Engine:
    """A plain engine for schema changes: foreign keys off, so that tables can be rebuilt."""
    url = make_url(database_url)
    path = sqlite_path(url)
    if path is None:
        return create_engine(url)

    def connect() -> sqlite3.Connection:
        connection = _open(path)
        # both must be decided before the first table exists
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    _begin_with(engine, "BEGIN IMMEDIATE")
    return engine


def in_transaction(connection: Connection) -> bool:
    """Whether the database still holds the transaction we began (SQLite drops it when the disk is full)."""
    driver = connection.connection.dbapi_connection
    return not isinstance(driver, sqlite3.Connection) or driver.in_transaction


def tidy(connection: Connection, path: Path | None) -> bool:
    """Idle work of the writer: shorten a long write-ahead log, give freed pages back.

    ``connection`` must be outside a transaction.  Returns whether there is more to do; each call is
    short, so that a write waits little.
    """
    driver: Any = connection.connection.dbapi_connection
    if path is None or not isinstance(driver, sqlite3.Connection):
        return False
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size > 8 * 1024 * 1024:
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    (free,) = driver.execute("PRAGMA freelist_count").fetchone()
    (pages,) = driver.execute("PRAGMA page_count").fetchone()
    is_wasteful: bool = free > max(256, pages // 5)
    if is_wasteful:
        # a script, because a statement without columns is stepped once, which frees a single page
        driver.executescript(f"PRAGMA incremental_vacuum({_PAGES_PER_TIDY})")
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # only then does the file shrink
    return is_wasteful


def _open(path: Path) -> sqlite3.Connection:
    # mode=rw: a missing file is an error, never a new empty database
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    return connection


def _begin_with(engine: Engine, statement: str, *, limit_s: float | None = None) -> None:
    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        driver: Any = connection.connection.dbapi_connection
        if limit_s is not None:
            driver.set_progress_handler(_past(time.monotonic() + limit_s), _PROGRESS_OPCODES)
        connection.exec_driver_sql(statement)


def _past(deadline: float) -> Callable[[], int]:
    return lambda: int(time.monotonic() > deadline)
