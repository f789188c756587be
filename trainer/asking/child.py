"""What a process with a model in it does beside its work: requests in, answers out, and leaving in time.

A request is one JSON line on standard input, its answer one JSON line on
standard output, before it any number of ``{"tell", "fraction"}``.  Whatever
libraries print goes to standard error.  The process ends when its standard
input does, or when its parent is another, whatever it is doing.
"""

from __future__ import annotations

import json
import math
import os
import queue
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import IO, Any

from trainer.asking.faults import Fault
from trainer.asking.lines import lines_from

Answer = Callable[[dict[str, Any]], dict[str, Any]]
FaultOf = Callable[[Exception, dict[str, Any]], dict[str, Any] | None]


class Voice:
    """Standard output, kept for answers."""

    def __init__(self) -> None:
        self._stream: IO[str] = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)  # whatever a library prints must not look like an answer

    def tell(self, detail: str, fraction: float) -> None:
        """Pass on how far it is."""
        self.say({"tell": detail, "fraction": min(1.0, max(0.0, float(fraction)))})

    def say(self, word: dict[str, Any]) -> None:
        """One line."""
        self._stream.write(json.dumps(_plain(word)) + "\n")
        self._stream.flush()


def serve(voice: Voice, answer: Answer, *, parent: int, fault_of: FaultOf) -> None:
    """Answer requests until nobody asks any more; does not return.

    ``fault_of`` puts an error that can be expected into words, ``{"kind", "message", "hint"?, "field"?}``;
    None for one that nobody expected.
    """
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, parent), name="requests", daemon=True).start()
    while True:
        request = json.loads(requests.get())
        try:
            word = answer(request)
        except Exception as exc:  # noqa: BLE001 - the person is told, and the process stays
            word = {"error": _fault(exc, request, fault_of)}
        voice.say(word)


def _fault(error: Exception, request: dict[str, Any], fault_of: FaultOf) -> dict[str, Any]:
    """``error`` as the person is told of it; what nobody expected goes to the log as well."""
    told = fault_of(error, request)
    if told is not None:
        return told
    traceback.print_exception(error)
    return {"kind": Fault.BROKEN.value, "message": f"{type(error).__name__}: {error}"}


def _listen(requests: queue.SimpleQueue[bytes], parent: int) -> None:
    """Take requests from standard input; end the process, whatever it is doing, when there can be none."""
    for line in lines_from(0, is_wanted=lambda: os.getppid() == parent):
        requests.put(line)
    os._exit(0)


def _plain(value: Any) -> Any:
    """``value`` with null for every number that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value
