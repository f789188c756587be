"""What can go wrong for a caller, and the HTTP status each kind stands for.

    SignalboxError
    ├── InvalidRequest      422  a value is wrong; ``field`` names it
    │   └── PreflightRed         a run that cannot succeed; ``checks`` say why
    ├── Unauthenticated     401  nobody is logged in
    ├── Forbidden           403  somebody is, but may not do this
    ├── NotFound            404  ``hint`` names what does exist
    │   └── NoVectors            snapshots that do not say where the model placed its examples
    ├── Conflict            409  the run's state, or a race, does not allow it
    │   └── InvalidTransition
    ├── TooLarge            413
    ├── TooManyRequests     429
    ├── ModelFailed         502  a model that was asked died; ``findings`` say why
    └── Unavailable         503  try again later

Services and store raise these; ``factory`` turns them into responses in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class SignalboxError(Exception):
    """An error a person can act on."""

    status = 500
    code = "internal"

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.hint = hint

    def to_json(self) -> dict[str, dict[str, Any]]:
        """``{"error": {"code", "message", "field"?, "hint"?}}``, the one shape of REST errors."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.field is not None:
            body["field"] = self.field
        if self.hint is not None:
            body["hint"] = self.hint
        return {"error": body}


class InvalidRequest(SignalboxError):
    """A value of the request is wrong."""

    status, code = 422, "invalid"


class PreflightRed(InvalidRequest):
    """The run would fail, or its numbers could not be trusted; ``checks`` are the red findings."""

    code = "preflight"

    def __init__(self, checks: Sequence[Mapping[str, Any]]) -> None:
        found = "; ".join(f"{check['title']}: {check['found']}" for check in checks)
        super().__init__(
            f"the preflight is red: {found}",
            hint='Put it right, or send "preflight": "skip" to start anyway.',
        )
        self.checks = [dict(check) for check in checks]

    def to_json(self) -> dict[str, dict[str, Any]]:
        """The usual shape, with ``checks`` beside the message."""
        return {"error": {**super().to_json()["error"], "checks": self.checks}}


class Unauthenticated(SignalboxError):
    """Nobody is logged in."""

    status, code = 401, "unauthenticated"


class Forbidden(SignalboxError):
    """The caller may not do this."""

    status, code = 403, "forbidden"


class NotFound(SignalboxError):
    """There is no such thing."""

    status, code = 404, "not_found"


class NoVectors(NotFound):
    """The snapshots do not say where the model placed its examples."""

    code = "no_vectors"


class Conflict(SignalboxError):
    """The present state does not allow it."""

    status, code = 409, "conflict"


class InvalidTransition(Conflict):
    """The move is not allowed, or another caller was faster."""

    code = "invalid_transition"


class TooLarge(SignalboxError):
    """The body is over its limit."""

    status, code = 413, "too_large"


class TooManyRequests(SignalboxError):
    """Slow down."""

    status, code = 429, "too_many_requests"


class ModelFailed(SignalboxError):
    """The process with a trained model died or failed; ``findings`` tell why, ``lines`` are its last."""

    status, code = 502, "model_failed"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        findings: Sequence[Mapping[str, Any]] = (),
        lines: Sequence[str] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.findings = [dict(finding) for finding in findings]
        self.lines = list(lines)

    def to_json(self) -> dict[str, dict[str, Any]]:
        """The usual shape, with ``findings`` and ``lines`` beside the message."""
        return {"error": {**super().to_json()["error"], "findings": self.findings, "lines": self.lines}}


class Unavailable(SignalboxError):
    """Not now; try again."""

    status, code = 503, "unavailable"
