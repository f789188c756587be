"""Who may come in: login codes, browser sessions, API tokens, run tokens.

Every secret has 256 random bits and is stored as its SHA-256 only, so reading
the database lets nobody in; looking a secret up by its hash leaks no timing.
Times are Unix seconds.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Final, NoReturn

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.domain.callers import ANONYMOUS, Caller, Scope
from app.errors import TooManyRequests, Unauthenticated
from app.store.engine import Store
from app.store.models import ApiToken, BrowserSession, LoginCode, RunToken

CODE_LIFE_S: Final = 10 * 60.0
SESSION_IDLE_S: Final = 12 * 3600.0
SESSION_LIFE_S: Final = 7 * 24 * 3600.0
TOUCH_EVERY_S: Final = 60.0  # a session's last use is written at most this often
GUESSES_PER_MINUTE: Final = 10

audit: Final = logging.getLogger("signalbox.audit")


def digest(secret: str) -> str:
    """What is stored of a secret: its SHA-256 in hex."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def issue_run_token(session: Session, run_id: str) -> str:
    """Give a run a fresh token, replacing an earlier one; returns the secret, stored nowhere."""
    token = secrets.token_urlsafe(32)
    session.execute(delete(RunToken).where(RunToken.run_id == run_id))
    session.add(RunToken(run_id=run_id, hash=digest(token)))
    return token


def issue_api_token(session: Session, *, scope: Scope, label: str, now: float) -> str:
    """Create an API token of ``scope`` owner or viewer; returns the secret, stored nowhere."""
    if scope not in (Scope.OWNER, Scope.VIEWER):
        raise ValueError(f"an API token is for owner or viewer, not {scope}")
    token = f"sbx_{secrets.token_urlsafe(32)}"
    session.add(ApiToken(hash=digest(token), scope=scope.value, label=label, created_at=now))
    return token


def issue_login_code(session: Session, *, now: float) -> str:
    """Create a code for one login within ten minutes; expired ones are swept away."""
    code = secrets.token_urlsafe(32)
    session.execute(delete(LoginCode).where(LoginCode.expires_at < now))
    session.add(LoginCode(hash=digest(code), expires_at=now + CODE_LIFE_S))
    return code


def has_owner_token(session: Session) -> bool:
    """Whether somebody has made an owner token; a server open to other machines needs one."""
    return session.scalar(select(ApiToken.id).where(ApiToken.scope == Scope.OWNER.value).limit(1)) is not None


class Access:
    """Turns credentials into callers."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._guesses = RateLimit(GUESSES_PER_MINUTE, per_s=60.0)

    def login(self, code: str, *, address: str) -> str:
        """Trade a one-time code for a session id; the code is gone afterwards.

        Raises:
            TooManyRequests: over ten wrong codes a minute from ``address``; a right one is always let in.
            Unauthenticated: the code is unknown, used or expired.
        """
        now = self._clock()
        session_id = secrets.token_urlsafe(32)

        def work(session: Session) -> bool:
            found = session.scalar(
                delete(LoginCode)
                .where(LoginCode.hash == digest(code), LoginCode.expires_at >= now)
                .returning(LoginCode.hash)
            )
            if found is not None:
                stale = BrowserSession.seen_at < now - SESSION_IDLE_S
                session.execute(delete(BrowserSession).where(stale))
                session.add(BrowserSession(hash=digest(session_id), created_at=now, seen_at=now))
            return found is not None

        if not self._store.write(work):
            self._refuse(address)
        audit.info("login from %s", address)
        return session_id

    def _refuse(self, address: str) -> NoReturn:
        audit.warning("login refused: wrong or used code from %s", address)
        if not self._guesses.allow(address):
            raise TooManyRequests("too many wrong login codes", hint="wait a minute, then try again")
        raise Unauthenticated(
            "this login link was used already, or is too old",
            hint="run 'python -m app login-link' for a fresh one",
        )

    def logout(self, session_id: str) -> None:
        """End one session; ending an unknown one is fine."""
        self._store.write(
            lambda session: session.execute(
                delete(BrowserSession).where(BrowserSession.hash == digest(session_id))
            )
        )
        audit.info("logout")

    def by_session(self, session_id: str) -> Caller:
        """The owner, when the session is alive; else anonymous. Marks the session as used."""
        now, key = self._clock(), digest(session_id)
        with self._store.read() as session:
            row = session.get(BrowserSession, key)
            alive = (
                row is not None
                and now - row.seen_at <= SESSION_IDLE_S
                and now - row.created_at <= SESSION_LIFE_S
            )
            last_touch = row.seen_at if row is not None else now
        if not alive:
            return ANONYMOUS
        if now - last_touch > TOUCH_EVERY_S:
            self._store.write(lambda session: _touch(session, key, now))
        return Caller(Scope.OWNER, by_cookie=True)

    def by_bearer(self, token: str) -> Caller:
        """The caller behind an API token or a run token; anonymous when there is none."""
        key = digest(token)
        with self._store.read() as session:
            scope = session.scalar(select(ApiToken.scope).where(ApiToken.hash == key))
            if scope is not None:
                return Caller(Scope(scope))
            run_id = session.scalar(select(RunToken.run_id).where(RunToken.hash == key))
        return ANONYMOUS if run_id is None else Caller(Scope.RUN, run_id=run_id)

    def is_run(self, run_id: str, token: str) -> bool:
        """Whether ``token`` is the token of run ``run_id``; compared in constant time."""
        with self._store.read() as session:
            stored = session.scalar(select(RunToken.hash).where(RunToken.run_id == run_id))
        return hmac.compare_digest(stored or digest(""), digest(token)) and stored is not None


class RateLimit:
    """At most ``limit`` events per ``per_s`` seconds and key; safe to call from any thread."""

    def __init__(self, limit: int, *, per_s: float) -> None:
        self._limit = limit
        self._per_s = per_s
        self._times: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def allow(self, key: str) -> bool:
        """Count one event of ``key``; False when it is one too many."""
        now = time.monotonic()
        with self._lock:
            recent = [at for at in self._times.get(key, []) if now - at < self._per_s]
            allowed = len(recent) < self._limit
            if allowed:
                recent.append(now)
            self._times[key] = recent
            if len(self._times) > 10_000:  # an attacker's many addresses must not fill memory
                self._times = {key: recent}
        return allowed


def _touch(session: Session, key: str, now: float) -> None:
    row = session.get(BrowserSession, key)
    if row is not None:
        row.seen_at = now
