"""``/api/settings/webhook``: where alerts are sent to."""

from __future__ import annotations

from typing import Literal

from apiflask import APIBlueprint
from flask import Response
from pydantic import Field

from app.container import container
from app.routes.answers import Answer
from app.routes.inputs import Body, takes_body
from app.routes.replies import reply
from app.security.access import requires

bp = APIBlueprint("settings_api", __name__, url_prefix="/api/settings")


class WebhookChanges(Body):
    """What may be changed; what is left out stays."""

    enabled: bool | None = None
    url: str | None = Field(default=None, max_length=2000, description="http or https; empty removes it.")
    secret: str | None = Field(default=None, max_length=200, description="Signs every message; empty: none.")
    min_level: Literal["info", "warning", "error"] | None = None


class WebhookAnswer(Answer):
    """The webhook as it is now, and what became of its messages since the dashboard was started."""

    url: str
    enabled: bool
    has_secret: bool
    min_level: Literal["info", "warning", "error"]
    is_fixed: bool = Field(description="The address is set by SIGNALBOX_WEBHOOK_URL or signalbox.toml.")
    waiting: int
    sent: int
    failed: int
    dropped: int
    last_error: str | None
    last_error_at: float | None
    last_sent_at: float | None


class WebhookTestAnswer(Answer):
    """What became of the test message."""

    ok: bool
    status: int | None
    words: str


@bp.get("/webhook")
@requires("owner")
@bp.output(WebhookAnswer)
@bp.doc(tags=["Settings"])
def show() -> Response:
    """Show where alerts are sent to; the secret is never shown."""
    return reply(container().webhook.status())


@bp.patch("/webhook")
@requires("owner")
@takes_body(WebhookChanges)
@bp.output(WebhookAnswer)
@bp.doc(tags=["Settings"])
def change(body: WebhookChanges) -> Response:
    """Change the webhook, or switch it on and off."""
    return reply(container().webhook.change(body.model_dump(exclude_none=True)))


@bp.post("/webhook/test")
@requires("owner")
@bp.output(WebhookTestAnswer)
@bp.doc(tags=["Settings"])
def test() -> Response:
    """Send a test message now, once, whether or not the webhook is on; takes at most about 5 s."""
    outcome = container().webhook.test()
    return reply({"ok": outcome.ok, "status": outcome.status, "words": outcome.words})
