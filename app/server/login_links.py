"""Login links and API tokens, made outside of any request."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.callers import Scope
from app.errors import Forbidden
from app.services.access import has_owner_token, issue_api_token, issue_login_code
from app.store.engine import Store

T = TypeVar("T")


def login_link(settings: Settings) -> str:
    """A fresh link that logs one browser in, once, within ten minutes."""
    code = _write(settings, lambda session: issue_login_code(session, now=time.time()))
    return f"{settings.base_url}/login#code={code}"


def api_token(settings: Settings, *, scope: Scope, label: str) -> str:
    """A fresh API token; shown once, stored as a hash."""
    return _write(
        settings, lambda session: issue_api_token(session, scope=scope, label=label, now=time.time())
    )


def require_owner_token(settings: Settings) -> None:
    """Refuse to open the server to other machines before somebody has made an owner token.

    Raises:
        Forbidden: the host is not loopback and there is no token.
    """
    if settings.is_loopback or _write(settings, has_owner_token):
        return
    raise Forbidden(
        f"SIGNALBOX_HOST={settings.host!r} opens the server to other machines: first make a token with "
        "'python -m app token create --scope owner', or listen on 127.0.0.1"
    )


def _write(settings: Settings, work: Callable[[Session], T]) -> T:
    store = Store(settings.database_url)
    store.start()
    try:
        return store.write(work)
    finally:
        store.close()
