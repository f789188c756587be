"""The store: writes are grouped, isolated from each other, durable, and refused with a reason."""

from __future__ import annotations

import sqlite3
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.errors import Unavailable
from app.store import runs
from app.store.engine import Store
from tests.app.rows import new_run


def path_of(store: Store) -> Path:
    return Path(store.database_url.removeprefix("sqlite:///"))


def test_a_write_is_readable_when_it_returns(store: Store) -> None:
    store.write(lambda s: runs.insert_run(s, new_run()))
    with store.read() as session:
        assert runs.get_run(session, "run-1").name == "a run"


def test_a_failing_task_leaves_its_neighbours_of_the_same_commit_alone(store: Store) -> None:
    gate = threading.Event()
    outcomes: dict[str, Any] = {}

    def insert(run_id: str) -> None:
        try:
            outcomes[run_id] = store.write(lambda s: runs.insert_run(s, new_run(run_id)).id)
        except IntegrityError as exc:
            outcomes[run_id] = exc

    def hold(session: Session) -> None:
        runs.insert_run(session, new_run("twin"))
        gate.wait(10)

    threads = [threading.Thread(target=store.write, args=(hold,))]
    threads += [threading.Thread(target=insert, args=(name,)) for name in ("a", "twin", "b")]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    assert (outcomes["a"], outcomes["b"]) == ("a", "b")
    assert isinstance(outcomes["twin"], IntegrityError)
    with store.read() as session:
        assert runs.list_runs(session)[1] == 3
    assert store.healthy


def test_what_follows_a_commit_cannot_undo_it(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    def explode(run: object) -> None:
        raise RuntimeError("a broken listener")

    store.write(lambda s: runs.insert_run(s, new_run()), after_commit=explode)
    with store.read() as session:
        assert runs.get_run(session, "run-1")
    assert "a broken listener" in caplog.text


def test_readers_cannot_write(store: Store) -> None:
    with pytest.raises(Unavailable, match="readonly"), store.read() as session:
        session.execute(text("DELETE FROM runs"))


def test_a_read_session_sees_one_moment(store: Store) -> None:
    with store.read() as session:
        assert runs.list_runs(session)[1] == 0
        store.write(lambda s: runs.insert_run(s, new_run()))
        assert runs.list_runs(session)[1] == 0
    with store.read() as session:
        assert runs.list_runs(session)[1] == 1


def test_an_acknowledged_write_is_synced_and_foreign_keys_are_kept(store: Store) -> None:
    def pragmas(session: Session) -> tuple[Any, ...]:
        names = ("synchronous", "foreign_keys", "journal_mode")
        return tuple(session.scalar(text(f"PRAGMA {name}")) for name in names)

    assert store.write(pragmas) == (2, 1, "wal")


def test_only_the_owner_can_read_the_files(store: Store) -> None:
    store.write(lambda s: runs.insert_run(s, new_run()))
    path = path_of(store)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes


def test_a_locked_database_is_waited_for(store: Store) -> None:
    other = sqlite3.connect(path_of(store), isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(2.5, lambda: other.execute("COMMIT"))  # beyond the driver's own patience
    timer.start()
    store.write(lambda s: runs.insert_run(s, new_run()))
    timer.join()
    other.close()
    assert store.healthy


def test_a_database_locked_for_too_long_is_named_as_the_reason(store: Store) -> None:
    other = sqlite3.connect(path_of(store), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable):
        store.write(lambda s: runs.insert_run(s, new_run()), timeout_s=0.5)
    with store.read() as session:
        assert runs.list_runs(session)[1] == 0
    other.execute("ROLLBACK")
    other.close()
    store.write(lambda s: runs.insert_run(s, new_run("run-2")))
    assert store.healthy
    with store.read() as session:
        assert [run.id for run in runs.list_runs(session)[0]] == ["run-2"]


def test_a_full_disk_refuses_the_write_and_recovers_by_itself(store: Store) -> None:
    def limit(session: Session, pages: int) -> None:
        session.execute(text(f"PRAGMA max_page_count={pages}"))

    store.write(lambda s: limit(s, 1))  # SQLite keeps at least what is there
    with pytest.raises(Unavailable, match="full"):
        store.write(lambda s: runs.insert_run(s, new_run(name="x" * 10_000_000)))
    assert not store.healthy
    assert "full" in (store.trouble or "")
    store.write(lambda s: limit(s, 2**30))
    store.write(lambda s: runs.insert_run(s, new_run()))
    assert store.healthy


def test_writing_on_the_writer_thread_is_refused_at_once(store: Store) -> None:
    def nested(session: Session) -> None:
        store.write(lambda s: None)

    with pytest.raises(RuntimeError, match="same session"):
        store.write(nested)


def test_a_store_that_is_not_started_or_closed_says_so(database_url: str) -> None:
    idle = Store(database_url)
    assert not idle.healthy
    with pytest.raises(Unavailable, match="not been started"):
        idle.write(lambda s: None)
    idle.start()
    idle.close()
    assert not idle.healthy
    with pytest.raises(Unavailable):
        idle.write(lambda s: None)


def test_queued_writes_are_finished_before_closing(database_url: str) -> None:
    opened = Store(database_url)
    opened.start()
    threads = [
        threading.Thread(target=opened.write, args=(lambda s, i=i: runs.insert_run(s, new_run(f"r{i}")),))
        for i in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    opened.close()
    with sqlite3.connect(database_url.removeprefix("sqlite:///")) as check:
        assert check.execute("SELECT count(*) FROM runs").fetchone() == (50,)
    check.close()


def test_a_missing_database_is_not_created_by_reading(tmp_path: Path) -> None:
    opened = Store(f"sqlite:///{tmp_path / 'nothing.db'}")
    with pytest.raises(Unavailable), opened.read() as session:
        runs.list_runs(session)
    opened.close()
    assert list(tmp_path.iterdir()) == []


def test_space_of_deleted_rows_goes_back_to_the_disk(store: Store) -> None:
    store.write(lambda s: runs.insert_run(s, new_run(name="x" * 8_000_000)))
    store.write(lambda s: runs.delete(s, "run-1"))
    deadline = time.monotonic() + 30
    while path_of(store).stat().st_size > 2_000_000:
        assert time.monotonic() < deadline, "the file stays large"
        time.sleep(0.05)
