"""Keeps a dashboard informed for as long as the run lasts, whatever happens to the dashboard.

Order matters: the end of an attempt is told only after all the trainer said
and printed in it has arrived, so nobody sees a finished run at step 990 of 1000.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import Command, Stream
from trainer.protocol.files import read_object
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.cadence import Cadence
from trainer.supervisor.cargo import OutputCargo, StreamCargo
from trainer.supervisor.link import Link, LinkDown
from trainer.supervisor.snapshot_courier import SnapshotCourier

log = logging.getLogger(__name__)
STATUS_EVERY_S: Final = 1.0
_SNAPSHOTS_MAY_DELAY_END_S: Final = 5.0
_FIRST_BACK_OFF_S: Final = 0.1
_LONGEST_BACK_OFF_S: Final = 10.0
_LONGEST_LOCAL_BACK_OFF_S: Final = 0.5  # a refused connection costs next to nothing on this machine
_LOCAL_HOSTS: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class Uplink:
    """A thread that connects, asks what the dashboard has, ships the rest, and does it all again."""

    def __init__(
        self,
        paths: RunPaths,
        *,
        run: str,
        attempt: Callable[[], int],
        on_command: Callable[[Command], None],
        status: Callable[[], dict[str, Any]] | None = None,
        last_words: Callable[[], dict[str, Any] | None] = lambda: None,
    ) -> None:
        """``attempt`` tells the present one; ``on_command`` is called from a network thread.

        ``last_words`` gives the run's end where the disk would not take it, which is sent as it is.
        """
        self._paths = paths
        self._run = run
        self._attempt = attempt
        self._on_command = on_command
        self._status = status
        self._last_words = last_words
        self._told: dict[str, Any] | None = None  # the last words that were acknowledged
        self._courier = SnapshotCourier(paths, run=run)
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._cadence = Cadence()
        self._idle_since: float | None = None  # monotonic; everything acknowledged since then
        self._held_since: float | None = None
        self._thread = threading.Thread(target=self._keep_linked, name="uplink", daemon=True)

    def start(self) -> None:
        """Start connecting; returns at once."""
        self._courier.start()
        self._thread.start()

    def drain(self, timeout_s: float, *, abandoned: Callable[[], bool] = lambda: False) -> bool:
        """Wait until everything there is now has been acknowledged; False when time ran out first."""
        begin = time.monotonic()
        self._cadence.in_a_hurry = True
        self._wake.set()
        while time.monotonic() - begin < timeout_s and not abandoned():
            if not self._paths.spec.exists():
                return False  # the run was deleted; a write under way may have left an empty folder
            if self._idle_since is not None and self._idle_since > begin and self._courier.drained():
                return True
            time.sleep(0.02)
        return False

    def close(self) -> None:
        """Disconnect and end the threads."""
        self._closing.set()
        self._wake.set()
        self._thread.join(timeout=5.0)
        self._courier.close()

    def _keep_linked(self) -> None:
        back_off_s = _FIRST_BACK_OFF_S
        said = ""
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                self._serve_one_link()
            except (LinkDown, ProtocolError, OSError) as exc:
                if str(exc) != said:
                    said = str(exc)
                    log.warning("not linked to the dashboard: %s", said)
            self._idle_since = None
            if time.monotonic() - began > _LONGEST_BACK_OFF_S:
                back_off_s = _FIRST_BACK_OFF_S  # it held for a while: be quick again
            self._closing.wait(back_off_s * random.uniform(0.5, 1.5))  # noqa: S311 - spreads load, keeps no secret
            back_off_s = min(self._longest_back_off_s(), back_off_s * 2)

    def _longest_back_off_s(self) -> float:
        """A dashboard on this machine is found again quickly; asking it in vain costs nothing."""
        try:
            host = urlsplit(str(read_object(self._paths.uplink).get("url"))).hostname
        except (ProtocolError, ValueError):
            return _LONGEST_BACK_OFF_S
        return _LONGEST_LOCAL_BACK_OFF_S if host in _LOCAL_HOSTS else _LONGEST_BACK_OFF_S

    def _serve_one_link(self) -> None:
        """Connect once and ship until the link breaks or the uplink is closed.

        Raises:
            LinkDown: it could not be made, or broke.
            ProtocolError: the run folder has no readable ``uplink.json``.
        """
        url = str(read_object(self._paths.uplink).get("url"))
        token = self._paths.token.read_text("ascii").strip()
        link = Link(url, auth={"run": self._run, "token": token}, on_control=self._obey)
        try:
            answer = link.send("hello", {"run": self._run, "attempt": self._attempt()}).wait()
            have = answer.get("have")
            if not isinstance(have, dict):
                raise LinkDown(f"the dashboard refused the run: {answer.get('error') or answer!r}")
            log.info("linked to %s, which has %s", url, have)
            is_empty = not have.get(Stream.TRAINER)
            self._courier.connected(url, token, is_empty=is_empty)
            self._ship(link, have)
        finally:
            link.close()

    def _ship(self, link: Link, have: dict[str, Any]) -> None:
        trainer, own = (
            StreamCargo(self._paths, run=self._run, stream=stream, have=int(have.get(stream) or 0))
            for stream in (Stream.TRAINER, Stream.SUPERVISOR)
        )
        output = OutputCargo(self._paths, run=self._run, have=have.get("output") or {})
        cadence, next_status = self._cadence, 0.0
        try:
            while not self._closing.is_set():
                if link.broken.is_set():
                    raise LinkDown("the connection broke")
                began = time.monotonic()
                if self._status is not None and began >= next_status:
                    next_status = began + STATUS_EVERY_S
                    link.tell("status", {"run": self._run, **self._status()})
                backlog_bytes = trainer.backlog_bytes()
                if cadence.is_due(began, backlog_bytes):
                    moved = self._ship_some(link, trainer, own, output)
                    drained = trainer.drained and own.drained and output.drained
                    cadence.looked(began, backlog_bytes, moved=moved, drained=drained)
                    if not moved:
                        self._idle_since = began if drained and self._tell_last_words(link) else None
                self._wake.wait(cadence.pause_s(time.monotonic()))
                self._wake.clear()
        finally:
            trainer.close()
            own.close()

    def _tell_last_words(self, link: Link) -> bool:
        """Send an end that only memory holds, behind all the rest; whether there is nothing left to tell."""
        words = self._last_words()
        if words is None or words is self._told:
            return True
        answer = link.send("end", {"run": self._run, **words}).wait()
        error = answer.get("error")
        if error:
            log.error("the dashboard did not take the end of the run: %s", error)
        if not error or error.get("code") == "invalid":
            self._told = words
        return self._told is words

    def _ship_some(self, link: Link, trainer: StreamCargo, own: StreamCargo, output: OutputCargo) -> bool:
        moved = trainer.ship(link)
        moved = output.ship(link) or moved
        has = trainer.acknowledged

        def hold_end(trainer_seq: int | None) -> bool:
            # a later attempt may report without a pause: its news must not keep back the end of this one
            return self._holds_end(moved=moved and (trainer_seq is None or has < trainer_seq))

        return own.ship(link, hold_end=hold_end) or moved

    def _holds_end(self, *, moved: bool) -> bool:
        """Whether the end of an attempt must wait: for the rest, and a moment for its snapshots."""
        if moved:
            self._held_since = None
            return True
        if self._courier.drained():
            return False
        now = time.monotonic()
        self._held_since = self._held_since or now
        return now - self._held_since < _SNAPSHOTS_MAY_DELAY_END_S

    def _obey(self, message: Any) -> dict[str, Any]:
        try:
            command = Command(message["command"])
        except (KeyError, TypeError, ValueError):
            return {"ok": False, "error": f"not a command: {message!r}"}
        try:
            self._on_command(command)
        except OSError as exc:  # the disk is full: the dashboard is told, the link lives on
            return {"ok": False, "error": f"'{command}' cannot be passed on: {exc}"}
        return {"ok": True}
