"""Tells alerts to an address outside: off by default, in a thread of its own, and never in anybody's way.

Ingest only drops a message into a bounded queue.  What does not fit, or fails
for good, is counted and shown on the settings page.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from app.config import Settings
from app.errors import InvalidRequest, SignalboxError
from app.services.webhook_post import Outcome, check_url, host_of, post
from app.store import preferences
from app.store.engine import Store
from app.store.models import Run

PREFERENCE: Final = "webhook"
LEVELS: Final = ("info", "warning", "error")
MAX_WAITING: Final = 200
PAUSES_S: Final = (1.0, 5.0, 25.0)  # before the second, third and last try
TIMEOUT_S: Final = 5.0
_MAX_SECRET: Final = 200
log: Final = logging.getLogger("signalbox.webhook")


@dataclass(frozen=True)
class Target:
    """Where to, and what: ``min_level`` is the least urgent level that is sent."""

    url: str
    enabled: bool
    secret: str
    min_level: str
    is_fixed: bool  # address from signalbox.toml or SIGNALBOX_WEBHOOK_URL


@dataclass
class Counts:
    """What became of the messages since the dashboard was started."""

    sent: int = 0
    failed: int = 0
    dropped: int = 0
    last_error: str | None = None
    last_error_at: float | None = None
    last_sent_at: float | None = None


class Webhook:
    """The queue, the thread that empties it, and the settings of both."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        pauses_s: tuple[float, ...] = PAUSES_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._store = store
        self._settings = settings
        self._pauses_s = pauses_s
        self._timeout_s = timeout_s
        self._waiting: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue(MAX_WAITING)
        self._counts = Counts()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._target: Target | None = None

    def start(self) -> None:
        """Start delivering."""
        self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; what still waits is not sent."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=self._timeout_s + 1.0)

    def offer(self, run_id: str, event: dict[str, Any]) -> None:
        """Send an alert event when its turn comes; returns at once, from any thread."""
        target = self._target  # None until it was read once: then the thread decides
        if target is not None and not _wants(target, event):
            return
        try:
            self._waiting.put_nowait((run_id, event))
        except queue.Full:
            with self._lock:
                self._counts.dropped += 1

    def status(self) -> dict[str, Any]:
        """What the settings page shows; the secret itself never leaves the server."""
        target = self.target()
        with self._lock:
            counts = dict(vars(self._counts))
        return {
            "url": target.url,
            "enabled": target.enabled,
            "has_secret": bool(target.secret),
            "min_level": target.min_level,
            "is_fixed": target.is_fixed,
            "waiting": self._waiting.qsize(),
            **counts,
        }

    def target(self) -> Target:
        """The settings as they are now."""
        with self._store.read() as session:
            kept = preferences.get(session, PREFERENCE)
        self._target = _target(kept, self._settings)
        return self._target

    def change(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change some of ``url``, ``enabled``, ``secret``, ``min_level``; returns the new status.

        Raises:
            InvalidRequest: names what is wrong.
        """
        if changes.get("url"):
            check_url(changes["url"])
        if len(changes.get("secret") or "") > _MAX_SECRET:
            raise InvalidRequest(f"A secret has at most {_MAX_SECRET} characters.", field="secret")
        if "url" in changes and self._settings.webhook_url:
            raise InvalidRequest(
                "The webhook's address is set by SIGNALBOX_WEBHOOK_URL or signalbox.toml.",
                field="url",
                hint="Change it there and start the dashboard again; here it can be switched off.",
            )

        def work(session: Any) -> None:
            kept = preferences.get(session, PREFERENCE) | dict(changes)
            if _target(kept, self._settings).enabled and not _target(kept, self._settings).url:
                raise InvalidRequest("There is no address to send to.", field="url", hint="Write one first.")
            preferences.put(session, PREFERENCE, kept)

        self._store.write(work)
        return self.status()

    def test(self) -> Outcome:
        """Send a message now, once, whether or not the webhook is switched on.

        Raises:
            InvalidRequest: there is no address.
        """
        target = self.target()
        if not target.url:
            raise InvalidRequest("There is no address to send to.", field="url", hint="Write one first.")
        message = {
            "run": None,
            "name": "Signalbox",
            "category": "test",
            "level": "info",
            "title": "A test from Signalbox",
            "text": "The webhook works: alerts of your runs arrive here.",
            "step": None,
            "what": "raised",
            "url": self._settings.base_url,
        }
        return self._post(target, message, delivery=secrets.token_hex(8))

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                run_id, event = self._waiting.get(timeout=0.5)
            except queue.Empty:
                continue
            try:
                self._deliver(run_id, event)
            except SignalboxError as exc:
                self._note(Outcome(ok=False, status=None, words=exc.message))
            except Exception:  # one odd message must not end the deliveries
                log.exception("a webhook message could not be sent")
                self._note(Outcome(ok=False, status=None, words="an internal error; see the log"))

    def _deliver(self, run_id: str, event: dict[str, Any]) -> None:
        if not _wants(self.target(), event):
            return
        message = self._message(run_id, event)
        delivery = secrets.token_hex(8)
        outcome = Outcome(ok=False, status=None, words="not tried")
        for pause_s in (0.0, *self._pauses_s):
            if pause_s and self._closing.wait(pause_s):
                break
            target = self.target()  # asked again each time: it may have been switched off or changed
            if not _wants(target, event):
                return
            outcome = self._post(target, message, delivery=delivery)
            if outcome.ok or outcome.final:
                break
        self._note(outcome)
        if not outcome.ok:
            log.warning("webhook at %s: %s", host_of(self.target().url), outcome.words)

    def _message(self, run_id: str, event: Mapping[str, Any]) -> dict[str, Any]:
        with self._store.read() as session:
            run = session.get(Run, run_id)
            name = run.name if run is not None else run_id
        told = {field: event.get(field) for field in ("category", "level", "title", "text", "step")}
        url = f"{self._settings.base_url}/runs/{run_id}"
        return {"run": run_id, "name": name, **told, "what": event.get("what") or "raised", "url": url}

    def _post(self, target: Target, message: dict[str, Any], *, delivery: str) -> Outcome:
        body = orjson.dumps({**message, "sent_at": time.time()})
        return post(target.url, body, secret=target.secret, delivery=delivery, timeout_s=self._timeout_s)

    def _note(self, outcome: Outcome) -> None:
        with self._lock:
            if outcome.ok:
                self._counts.sent += 1
                self._counts.last_sent_at = time.time()
            else:
                self._counts.failed += 1
                self._counts.last_error, self._counts.last_error_at = outcome.words, time.time()


def _wants(target: Target, message: Mapping[str, Any]) -> bool:
    level = message.get("level")
    rank = LEVELS.index(level) if level in LEVELS else 1
    return target.enabled and bool(target.url) and rank >= LEVELS.index(target.min_level)


def _target(kept: Mapping[str, Any], settings: Settings) -> Target:
    """What the file or a variable sets wins; an address set there is on unless it was switched off."""
    is_fixed = bool(settings.webhook_url)
    min_level = kept.get("min_level")
    return Target(
        url=settings.webhook_url or str(kept.get("url") or ""),
        enabled=bool(kept.get("enabled", is_fixed)),
        secret=settings.webhook_secret or str(kept.get("secret") or ""),
        min_level=min_level if min_level in LEVELS else "warning",
        is_fixed=is_fixed,
    )
