"""Coming in with a one-time link, and leaving.

The code of the link ``/login#code=…`` is in the fragment, which browsers keep
to themselves: no log, no history of a proxy and no Referer ever has it.  The
login page's script posts it here.
"""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response, jsonify, redirect, render_template, request
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, Field

from app.container import container
from app.domain.callers import Scope
from app.security.access import public
from app.security.sessions import clear_cookie, session_id_of, set_cookie
from app.security.tokens import identify

bp = APIBlueprint("login", __name__, tag="Login")


class LoginBody(BaseModel):
    """The code of a login link."""

    code: str = Field(min_length=1, max_length=200, description="What follows #code= in the login link.")


class Done(BaseModel):
    """It worked."""

    ok: bool


@bp.get("/login")
@bp.doc(hide=True)
@public
def page() -> ResponseReturnValue:
    """The page that trades the link's code for a session; who has one goes straight to the runs."""
    parts = container()
    who = identify(request.environ, access=parts.access, settings=parts.settings)
    return redirect("/") if who.may(Scope.VIEWER) else render_template("login.html")


@bp.post("/api/login")
@bp.input(LoginBody, arg_name="body")
@bp.output(Done)
@bp.doc(summary="Trade a login code for a session cookie", responses=[401, 403, 429])
@public
def login(body: LoginBody) -> ResponseReturnValue:
    """Answer with a session cookie; the code is used up."""
    parts = container()
    session_id = parts.access.login(body.code, address=request.remote_addr or "unknown")
    response = _done()
    set_cookie(response, parts.settings, session_id)
    return response


@bp.post("/api/logout")
@bp.output(Done)
@bp.doc(summary="End this browser's session", responses=[403])
@public
def logout() -> ResponseReturnValue:
    """End the session and take the cookie back; fine without one."""
    parts = container()
    session_id = session_id_of(request.environ, parts.settings)
    if session_id is not None:
        parts.access.logout(session_id)
    response = _done()
    clear_cookie(response, parts.settings)
    return response


def _done() -> Response:
    return jsonify({"ok": True})
