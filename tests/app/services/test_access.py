"""Login codes, sessions, API tokens and run tokens on a real database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, text

from app.domain.callers import ANONYMOUS, Caller, Scope
from app.errors import TooManyRequests, Unauthenticated
from app.services.access import (
    CODE_LIFE_S,
    GUESSES_PER_MINUTE,
    SESSION_IDLE_S,
    SESSION_LIFE_S,
    Access,
    has_owner_token,
    issue_api_token,
    issue_login_code,
    issue_run_token,
)
from app.store.engine import Store
from app.store.models import BrowserSession, LoginCode, Run
from tests.app.fresh_database import fresh_database

OWNER_BY_COOKIE = Caller(Scope.OWNER, by_cookie=True)


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(fresh_database(tmp_path / "signalbox.db"))
    store.start()
    yield store
    store.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def access(store: Store, clock: Clock) -> Access:
    return Access(store, clock=clock)


def new_code(store: Store, clock: Clock) -> str:
    return store.write(lambda session: issue_login_code(session, now=clock.now))


def add_run(store: Store, run_id: str) -> str:
    now = time.time()
    asked = {"name": run_id, "recipe": "two_tower", "dataset": "docs", "params": {}}
    kept = {"tags": [], "policy": {}, "profile": "auto", "state": "running", "latest": {}}
    run = Run(id=run_id, queued_at=now, created_at=now, **asked, **kept)
    store.write(lambda session: session.add(run))
    return store.write(lambda session: issue_run_token(session, run_id))


def test_a_code_logs_in_once(access: Access, store: Store, clock: Clock) -> None:
    code = new_code(store, clock)
    session_id = access.login(code, address="a")
    assert access.by_session(session_id) == OWNER_BY_COOKIE
    with pytest.raises(Unauthenticated):
        access.login(code, address="a")


def test_a_code_dies_after_ten_minutes(access: Access, store: Store, clock: Clock) -> None:
    code = new_code(store, clock)
    clock.now += CODE_LIFE_S + 1
    with pytest.raises(Unauthenticated):
        access.login(code, address="a")
    new_code(store, clock)
    with store.read() as session:
        assert len(session.scalars(select(LoginCode)).all()) == 1  # the expired one was swept away


def test_guessing_is_slowed_down_per_address(access: Access, store: Store, clock: Clock) -> None:
    for guess in range(GUESSES_PER_MINUTE):
        with pytest.raises(Unauthenticated):
            access.login(f"guess-{guess}", address="mallory")
    with pytest.raises(TooManyRequests):
        access.login("one too many", address="mallory")
    with pytest.raises(Unauthenticated):
        access.login("guess", address="elsewhere")
    assert access.login(new_code(store, clock), address="mallory")  # the owner is never locked out


def test_a_session_ends_when_idle_or_old(access: Access, store: Store, clock: Clock) -> None:
    session_id = access.login(new_code(store, clock), address="a")
    begun = clock.now
    while clock.now - begun <= SESSION_LIFE_S:
        assert access.by_session(session_id) == OWNER_BY_COOKIE
        clock.now += SESSION_IDLE_S - 1
    assert access.by_session(session_id) == ANONYMOUS
    idle = access.login(new_code(store, clock), address="a")
    clock.now += SESSION_IDLE_S + 1
    assert access.by_session(idle) == ANONYMOUS


def test_logout_ends_the_session(access: Access, store: Store, clock: Clock) -> None:
    session_id = access.login(new_code(store, clock), address="a")
    access.logout(session_id)
    access.logout("never-was")
    assert access.by_session(session_id) == ANONYMOUS


def test_api_tokens_have_their_scope(access: Access, store: Store) -> None:
    viewer = store.write(lambda session: issue_api_token(session, scope=Scope.VIEWER, label="t", now=0.0))
    assert store.write(has_owner_token) is False
    owner = store.write(lambda session: issue_api_token(session, scope=Scope.OWNER, label="t", now=0.0))
    assert access.by_bearer(viewer) == Caller(Scope.VIEWER)
    assert access.by_bearer(owner) == Caller(Scope.OWNER)
    assert store.write(has_owner_token) is True
    assert access.by_bearer("sbx_wrong") == ANONYMOUS
    with pytest.raises(ValueError, match="owner or viewer"):
        store.write(lambda session: issue_api_token(session, scope=Scope.RUN, label="t", now=0.0))


def test_a_run_token_is_good_for_its_run_only(access: Access, store: Store) -> None:
    first, second = add_run(store, "r1"), add_run(store, "r2")
    assert access.is_run("r1", first)
    assert not access.is_run("r1", second)
    assert not access.is_run("r3", first)
    assert not access.is_run("r1", "")
    assert access.by_bearer(first) == Caller(Scope.RUN, run_id="r1")
    store.write(lambda session: issue_run_token(session, "r1"))
    assert not access.is_run("r1", first)


def test_no_secret_is_stored(access: Access, store: Store, clock: Clock) -> None:
    code = new_code(store, clock)
    session_id = access.login(new_code(store, clock), address="a")
    api = store.write(lambda session: issue_api_token(session, scope=Scope.OWNER, label="t", now=0.0))
    run = add_run(store, "r1")
    with store.read() as session:
        rows = [
            str(row)
            for table in ("login_codes", "browser_sessions", "api_tokens", "run_tokens")
            for row in session.execute(text(f"select * from {table}"))  # noqa: S608 - fixed names
        ]
        assert session.scalar(select(BrowserSession.hash)) is not None
    assert rows
    for secret in (code, session_id, api, run):
        assert not any(secret in row for row in rows)


@pytest.mark.parametrize(
    ("who", "may"),
    [
        (ANONYMOUS, {Scope.ANONYMOUS}),
        (Caller(Scope.VIEWER), {Scope.ANONYMOUS, Scope.VIEWER}),
        (Caller(Scope.OWNER), {Scope.ANONYMOUS, Scope.VIEWER, Scope.OWNER}),
        (Caller(Scope.RUN, run_id="r1"), {Scope.ANONYMOUS, Scope.RUN}),
        (Caller(Scope.RUN, run_id="r2"), {Scope.ANONYMOUS}),
    ],
)
def test_who_may_what(who: Caller, may: set[Scope]) -> None:
    assert {needed for needed in Scope if who.may(needed, run_id="r1")} == may
