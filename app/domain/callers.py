"""Who calls, and what that lets them do.  Only the standard library may be imported here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Scope(StrEnum):
    """What a caller is allowed to be."""

    ANONYMOUS = "anonymous"
    VIEWER = "viewer"
    OWNER = "owner"
    RUN = "run"


@dataclass(frozen=True)
class Caller:
    """Who is calling. ``run_id`` is set for a supervisor; ``by_cookie`` makes CSRF checks apply."""

    scope: Scope
    run_id: str | None = None
    by_cookie: bool = False

    def may(self, needed: Scope, *, run_id: str | None = None) -> bool:
        """Whether this caller may do what ``needed`` guards (for run tokens: on ``run_id``)."""
        if needed is Scope.ANONYMOUS:
            return True
        if needed is Scope.RUN:
            return self.scope is Scope.RUN and run_id is not None and self.run_id == run_id
        return self.scope is Scope.OWNER or (needed is Scope.VIEWER and self.scope is Scope.VIEWER)


ANONYMOUS: Final = Caller(Scope.ANONYMOUS)
