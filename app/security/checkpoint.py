"""Before every request: who calls, may they, and is it really their own page."""

from __future__ import annotations

from typing import Final

from flask import Flask, current_app, g, redirect, request, url_for
from flask.typing import ResponseReturnValue

from app.container import container
from app.domain.callers import Scope
from app.errors import Forbidden, Unauthenticated
from app.security import csrf
from app.security.access import decision_of
from app.security.host_gate import allowed_origins
from app.security.tokens import identify

# Views that frameworks bring along, and what we decided about them.
FRAMEWORK_DECISIONS: Final = {"openapi.spec": Scope.ANONYMOUS}
MACHINE_PATHS: Final = ("/api/", "/openapi.json", "/healthz")


def install(app: Flask) -> None:
    """Check every request of ``app`` before its view runs."""
    app.before_request(check_request)


def decision_for(app: Flask, endpoint: str) -> Scope | None:
    """What was decided about ``endpoint``; None where nobody did."""
    return FRAMEWORK_DECISIONS.get(endpoint) or decision_of(app.view_functions[endpoint])


def is_for_machines(path: str) -> bool:
    """Whether errors under ``path`` are JSON rather than pages."""
    return path.startswith(MACHINE_PATHS)


def check_request() -> ResponseReturnValue | None:
    """Refuse what may not be called; anonymous visitors of a page are sent to the login."""
    if request.endpoint is None:
        return None  # no such address; Flask answers
    needed = decision_for(current_app, request.endpoint)
    if needed is None:
        raise Forbidden("this address has no decision about access")
    parts = container()
    if needed is Scope.ANONYMOUS:
        csrf.check(request, origins=allowed_origins(parts.settings))
        return None
    who = identify(request.environ, access=parts.access, settings=parts.settings)
    g.caller = who
    if not who.may(needed, run_id=(request.view_args or {}).get("run_id")):
        if who.scope is not Scope.ANONYMOUS:
            raise Forbidden("this token may not do that")
        if not is_for_machines(request.path) and request.method in csrf.SAFE_METHODS:
            return redirect(url_for("login.page", next=_address()))
        raise Unauthenticated("log in first", hint="open a login link, or send Authorization: Bearer TOKEN")
    if who.by_cookie:
        csrf.check(request, origins=allowed_origins(parts.settings))
    return None


def _address() -> str | None:
    """Where the visitor wanted to go; nothing for the front page, where a login leads anyway."""
    wanted = request.full_path.rstrip("?")
    return wanted if wanted != "/" else None
