"""One thread writes, many sessions read.

Every change is a task for the writer thread.  Tasks that wait together share
one transaction and one disk sync (group commit), each inside a savepoint of
its own, so a failing task takes nothing of its neighbours with it.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from app.errors import Unavailable
from app.store import connections

T = TypeVar("T")
log = logging.getLogger(__name__)

_GROUP_TASKS: Final = 64
_QUEUED_TASKS: Final = 2_000
_IDLE_S: Final = 1.0
_RETRY_S: Final = 0.2
_RETRY_HINT: Final = "Nothing was stored; the sender keeps its events and tries again."


@dataclass(eq=False)
class _Task:
    """One piece of work and where its outcome goes."""

    work: Callable[[Session], Any]
    after_commit: Callable[[Any], None] | None
    deadline: float  # monotonic
    outcome: Future[Any] = field(default_factory=Future)
    claimed: bool = False

    def claim(self) -> bool:
        """Take it over from the caller; False when the caller has given up before anything was done."""
        self.claimed = self.claimed or self.outcome.set_running_or_notify_cancel()
        return self.claimed


class Store:
    """One writer thread, many read-only readers.

    Migrations are not run here: see :mod:`app.store.schema`.
    """

    def __init__(self, database_url: str) -> None:
        self.database_url = database_url
        self._path = connections.sqlite_path(make_url(database_url))
        self._writer = connections.writer_engine(database_url)
        self._readers = connections.reader_engine(database_url)
        self._tasks: queue.Queue[_Task | None] = queue.Queue(_QUEUED_TASKS)
        self._thread: threading.Thread | None = None
        self._trouble: str | None = "the writer has not been started"
        self._closing = threading.Event()

    @property
    def healthy(self) -> bool:
        """Whether the writer thread is alive and its last commit went through."""
        return self.trouble is None

    @property
    def trouble(self) -> str | None:
        """Why nothing can be stored at the moment, in words; None when all is well."""
        if self._thread is not None and not self._thread.is_alive() and not self._closing.is_set():
            return "the writer thread has died; restart the dashboard"
        return self._trouble

    def start(self) -> None:
        """Start the writer thread; once."""
        if self._thread is not None:
            raise RuntimeError("the store is already started")
        self._trouble = None
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Finish the queued writes, stop the writer and close every connection."""
        self._closing.set()
        if self._thread is not None:
            self._tasks.put(None)
            self._thread.join()
        self._trouble = "the store is closed"
        self._writer.dispose()
        self._readers.dispose()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A read-only session that sees one moment of the database.

        Raises:
            Unavailable: the database cannot be read now, or the read took longer than its limit.
        """
        try:
            with Session(self._readers, autoflush=False, expire_on_commit=False) as session:
                yield session
        except (OperationalError, PoolTimeout) as exc:
            raise Unavailable(f"The database cannot be read now: {_words(exc)}", hint="Try again.") from exc

    def write(
        self,
        work: Callable[[Session], T],
        *,
        after_commit: Callable[[T], None] | None = None,
        timeout_s: float = 30,
    ) -> T:
        """Run ``work`` on the writer thread and return its result after the commit.

        ``after_commit`` runs on the writer thread right after the commit, in commit order; it must be quick.

        Raises:
            Unavailable: the database is full, locked or gone, or ``timeout_s`` passed; a retry is safe for
                idempotent work.
            Exception: whatever ``work`` raised; nothing of it is stored.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "store.write called on the writer thread; do the work in the same session instead"
            )
        if self._thread is None or not self._thread.is_alive() or self._closing.is_set():
            raise Unavailable(
                f"Nothing can be stored: {self.trouble or 'the store is closing'}.", hint=_RETRY_HINT
            )
        task = _Task(work, after_commit, time.monotonic() + timeout_s)
        try:
            self._tasks.put(task, timeout=timeout_s)
            result: T = task.outcome.result(timeout=max(0.0, task.deadline - time.monotonic()))
        except (queue.Full, FutureTimeout) as exc:
            if task.outcome.done() and task.outcome.exception() is exc:
                raise  # the work itself raised a TimeoutError
            task.outcome.cancel()
            raise Unavailable(
                f"The database did not take the write within {timeout_s:g} s.", hint="Try again."
            ) from exc
        return result

    def _run(self) -> None:
        tidied = False
        while True:
            try:
                task = self._tasks.get(timeout=_IDLE_S)
            except queue.Empty:
                tidied = tidied or not self._tidy()
                continue
            tidied = False
            if task is None:
                break
            group, last = self._gather(task)
            self._commit_group(group)
            if last:
                break

    def _gather(self, first: _Task) -> tuple[list[_Task], bool]:
        """The tasks that wait now, and whether the queue has ended."""
        group = [first]
        while len(group) < _GROUP_TASKS:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                break
            if task is None:
                return group, True
            group.append(task)
        return group, False

    def _commit_group(self, group: list[_Task]) -> None:
        tasks = [task for task in group if not task.outcome.cancelled()]
        while tasks:
            try:
                self._attempt(tasks)
                self._trouble = None
                return
            except OperationalError as exc:
                self._trouble = _words(exc)
                waiting = [task for task in tasks if time.monotonic() < task.deadline]
                if not _is_locked(exc) or self._closing.is_set():
                    waiting = []
                self._refuse([task for task in tasks if task not in waiting], exc)
                tasks = waiting
                time.sleep(_RETRY_S if tasks else 0)
            except Exception as exc:  # noqa: BLE001 - the writer must outlive every failure
                self._trouble = f"{type(exc).__name__}: {exc}"
                self._refuse(tasks, exc)
                return

    def _refuse(self, tasks: list[_Task], cause: Exception) -> None:
        log.error("store: %d writes not committed: %s", len(tasks), cause)
        for task in tasks:
            refusal = Unavailable(
                f"The database cannot store anything now: {_words(cause)}.", hint=_RETRY_HINT
            )
            refusal.__cause__ = cause
            task.outcome.set_exception(refusal)

    def _attempt(self, tasks: list[_Task]) -> None:
        """Run and commit ``tasks``; raises only what concerns all of them."""
        done: list[tuple[_Task, Any]] = []
        failed: list[tuple[_Task, Exception]] = []
        with self._writer.connect() as connection, connection.begin():
            for task in filter(_Task.claim, tasks):
                try:
                    done.append((task, _in_savepoint(connection, task.work)))
                except Exception as exc:
                    if _concerns_all(connection, exc):
                        raise _first_cause(exc) from exc
                    failed.append((task, exc))
        for task, error in failed:
            task.outcome.set_exception(error)
        for task, result in done:
            _publish(task, result)

    def _tidy(self) -> bool:
        """Do some housekeeping; returns whether more is left."""
        try:
            with self._writer.connect() as connection:
                return connections.tidy(connection, self._path)
        except Exception as exc:  # noqa: BLE001 - housekeeping is tried again after the next write
            log.warning("store: housekeeping failed: %s", exc)
            return False


def _in_savepoint(connection: Connection, work: Callable[[Session], Any]) -> Any:
    with Session(connection, join_transaction_mode="create_savepoint", expire_on_commit=False) as session:
        result = work(session)
        session.commit()
        return result


def _publish(task: _Task, result: Any) -> None:
    try:
        if task.after_commit is not None:
            task.after_commit(result)
    except Exception:
        log.exception("store: the work after a commit failed; the commit stands")
    task.outcome.set_result(result)


def _concerns_all(connection: Connection, exc: Exception) -> bool:
    return not connections.in_transaction(connection) or (isinstance(exc, OperationalError) and _is_full(exc))


def _first_cause(exc: Exception) -> Exception:
    """The error that ended the transaction, not the failed return to a savepoint that went with it."""
    while "no such savepoint" in str(exc) and isinstance(exc.__context__, Exception):
        exc = exc.__context__
    return exc


def _is_locked(exc: Exception) -> bool:
    return "locked" in str(exc) or "busy" in str(exc)


def _is_full(exc: Exception) -> bool:
    text = str(exc)
    return "full" in text or "I/O" in text or "readonly" in text or _is_locked(exc)


def _words(exc: Exception) -> str:
    return str(exc.orig) if isinstance(exc, DBAPIError) else str(exc)
