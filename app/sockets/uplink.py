"""Namespace ``/uplink``: supervisors report here.

Events are handled in order, on the connection's own thread; a supervisor sends
the next batch after the acknowledgement of the last, which comes after the
COMMIT.  Whatever is wrong with a message is said in its acknowledgement.
"""

from __future__ import annotations

import base64
import logging
from typing import Any, Final

import socketio
from socketio import exceptions

from app.errors import SignalboxError
from app.security.access import requires_run_token
from app.services.access import Access
from app.services.ingest import Ingest, SequenceGap
from app.sockets.links import Links
from trainer.protocol.batches import Batch
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import UPLINK_NAMESPACE

logger: Final = logging.getLogger("signalbox.uplink")
Answer = dict[str, Any]


class Uplink(socketio.Namespace):  # type: ignore[misc]
    """What a supervisor may say: hello, batch, output, status, end."""

    def __init__(self, *, access: Access, ingest: Ingest, links: Links) -> None:
        super().__init__(UPLINK_NAMESPACE)
        self._access = access
        self._ingest = ingest
        self._links = links
        self._runs: dict[str, str] = {}  # sid -> run

    @requires_run_token
    def on_connect(self, sid: str, environ: dict[str, Any], auth: object = None) -> None:
        """Admit a supervisor that knows its run's token."""
        run_id, token = _credentials(auth)
        if run_id is None or token is None or not self._access.is_run(run_id, token):
            logger.warning("uplink refused: no such run, or a wrong token")
            raise exceptions.ConnectionRefusedError("this run is unknown here, or the token is wrong")
        self._runs[sid] = run_id
        replaced = self._links.add(run_id, sid)
        if replaced is not None:
            self.server.disconnect(replaced, namespace=self.namespace)

    @requires_run_token
    def on_disconnect(self, sid: str, reason: str = "") -> None:
        """Forget the connection; the run itself is none the worse."""
        run_id = self._runs.pop(sid, None)
        if run_id is not None:
            self._links.remove(run_id, sid)

    @requires_run_token
    def on_hello(self, sid: str, message: object = None) -> Answer:
        """Tell a supervisor what is stored already, per stream and attempt."""

        def work(run_id: str, message: dict[str, Any]) -> Answer:
            return {"have": self._ingest.hello(run_id, attempt=_integer(message, "attempt", low=0))}

        return self._answer(sid, message, work)

    @requires_run_token
    def on_batch(self, sid: str, message: object = None) -> Answer:
        """Store a batch; answers after the COMMIT."""

        def work(run_id: str, message: dict[str, Any]) -> Answer:
            return {"have": self._ingest.accept(Batch.from_wire(message))}

        return self._answer(sid, message, work)

    @requires_run_token
    def on_output(self, sid: str, message: object = None) -> Answer:
        """Store a piece of an attempt's output."""

        def work(run_id: str, message: dict[str, Any]) -> Answer:
            attempt, offset = _integer(message, "attempt", low=1), _integer(message, "offset", low=0)
            text = _bytes(message)
            return {"have": self._ingest.accept_output(run_id, attempt=attempt, offset=offset, text=text)}

        return self._answer(sid, message, work)

    @requires_run_token
    def on_status(self, sid: str, message: object = None) -> Answer:
        """Take note of the newest pulse; nothing of it is an event."""

        def work(run_id: str, message: dict[str, Any]) -> Answer:
            self._ingest.accept_status(run_id, message)
            return {}

        return self._answer(sid, message, work)

    @requires_run_token
    def on_end(self, sid: str, message: object = None) -> Answer:
        """Take the end of a run whose disk would not take it."""

        def work(run_id: str, message: dict[str, Any]) -> Answer:
            self._ingest.accept_end(run_id, message)
            return {}

        return self._answer(sid, message, work)

    def _answer(self, sid: str, message: object, work: Any) -> Answer:
        run_id = self._runs.get(sid)
        try:
            if run_id is None:
                raise ProtocolError("say who you are first")
            if not isinstance(message, dict) or message.get("run") != run_id:
                raise ProtocolError(f"the message must be an object about run {run_id}")
            answer: Answer = work(run_id, message)
            return answer
        except SequenceGap as gap:
            return {"error": {"code": "gap", "message": str(gap)}, "have": gap.have}
        except ProtocolError as exc:
            logger.warning("uplink of run %s: %s", run_id, exc)
            return _error("invalid", str(exc))
        except SignalboxError as exc:
            return _error("busy" if exc.status >= 500 else "invalid", exc.message)
        except Exception:  # never an exception to the client: it keeps its events and tries again
            logger.exception("uplink of run %s failed", run_id)
            return _error("busy", "the server could not store this now; try again")


def _error(code: str, message: str) -> Answer:
    return {"error": {"code": code, "message": message}}


def _credentials(auth: object) -> tuple[str | None, str | None]:
    if not isinstance(auth, dict):
        return None, None
    run_id, token = auth.get("run"), auth.get("token")
    if not isinstance(run_id, str) or not isinstance(token, str):
        return None, None
    return run_id, token


def _integer(message: dict[str, Any], name: str, *, low: int) -> int:
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value < 2**63:
        raise ProtocolError(f"{name} must be a whole number of at least {low}, got {value!r}")
    return value


def _bytes(message: dict[str, Any]) -> bytes:
    text = message.get("text")
    if not isinstance(text, str):
        raise ProtocolError("text must be base64")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as exc:
        raise ProtocolError(f"text must be base64: {exc}") from exc
