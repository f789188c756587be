"""A desk on standard input and output: what the dashboard starts for a run that somebody asks.

In: ``{"id", "question", "checkpoint"}``, one JSON line each.  Out, with the same
id: any number of ``{"id", "tell", "fraction"}``, then ``{"id", "result"}`` (see
:meth:`trainer.asking.desk.Desk.ask`) or ``{"id", "error"}`` (see
:class:`trainer.asking.faults.AskingError`).  It ends after some time without a
question, and at once when standard input does; its model's process ends with it.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from typing import IO, Any, Final

from trainer.asking.desk import Desk
from trainer.asking.faults import AskingError, Fault
from trainer.asking.lines import lines_from

_LOOK_EVERY_S: Final = 1.0


def serve(desk: Desk, *, idle_s: float) -> None:
    """Answer until nobody asks for ``idle_s`` seconds, or there is nobody any more."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(desk, lines), name="questions", daemon=True).start()
    asked_at = time.monotonic()
    try:
        while time.monotonic() - asked_at < idle_s:
            try:
                line = lines.get(timeout=_LOOK_EVERY_S)
            except queue.Empty:
                desk.look()
                continue
            _answer(desk, line)
            asked_at = time.monotonic()
    finally:
        desk.close()


def _answer(desk: Desk, line: bytes) -> None:
    try:
        request = _request(line)
    except AskingError as fault:
        _say(sys.stdout, {"id": None, "error": fault.to_json()})
        return
    number = request["id"]

    def tell(detail: str, fraction: float) -> None:
        _say(sys.stdout, {"id": number, "tell": detail, "fraction": fraction})

    try:
        result = desk.ask(request["question"], wish=request.get("checkpoint"), tell=tell)
    except AskingError as fault:
        _say(sys.stdout, {"id": number, "error": fault.to_json()})
    else:
        _say(sys.stdout, {"id": number, "result": result})


def _request(line: bytes) -> dict[str, Any]:
    """What a line asks.

    Raises:
        AskingError: it is no such object.
    """
    try:
        request = json.loads(line)
    except ValueError as exc:
        raise AskingError(Fault.QUESTION, f"this line is not JSON: {exc}") from exc
    wish = request.get("checkpoint") if isinstance(request, dict) else None
    is_whole = isinstance(request, dict) and isinstance(request.get("question"), dict) and "id" in request
    if not is_whole or not (wish is None or isinstance(wish, str)):
        raise AskingError(
            Fault.QUESTION,
            'a line must be {"id": ..., "question": {...}}, at will "checkpoint", a name or a step as text',
        )
    whole: dict[str, Any] = request
    return whole


def _say(out: IO[str], word: dict[str, Any]) -> None:
    out.write(json.dumps(word) + "\n")
    out.flush()


def _listen(desk: Desk, lines: queue.SimpleQueue[bytes]) -> None:
    """Take questions; when there can be none any more end this process, also in the middle of an answer."""
    for line in lines_from(0, is_wanted=lambda: True):
        lines.put(line)
    desk.close()
    os._exit(0)
