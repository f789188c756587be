"""Who may call what: every view and every socket event carries one decision.

Decorate a view *below* its route decorator::

    @bp.get("/<run_id>")
    @requires("viewer")
    def show(run_id: str) -> ...

A view without a decision is refused (fail closed) and fails the tests.  The
decorators only mark; ``app.security.checkpoint`` enforces before every request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar

from flask import g

from app.domain.callers import ANONYMOUS, Caller, Scope

View = TypeVar("View", bound=Callable[..., Any])
ATTRIBUTE: Final = "__signalbox_access__"


def public(view: View) -> View:
    """Anybody may call it, logged in or not."""
    setattr(view, ATTRIBUTE, Scope.ANONYMOUS)
    return view


def requires(scope: Literal["viewer", "owner"]) -> Callable[[View], View]:
    """Somebody with ``scope`` may call it; an owner may do what a viewer may."""

    def mark(view: View) -> View:
        setattr(view, ATTRIBUTE, Scope(scope))
        return view

    return mark


def requires_run_token(view: View) -> View:
    """Only the supervisor of the run named by the view's ``run_id`` argument may call it."""
    setattr(view, ATTRIBUTE, Scope.RUN)
    return view


def decision_of(view: object) -> Scope | None:
    """The decision a view or socket event carries, or None where somebody forgot it."""
    decision: Scope | None = getattr(view, ATTRIBUTE, None)
    return decision


def caller() -> Caller:
    """Who makes the current request."""
    who: Caller = g.get("caller", ANONYMOUS)
    return who
