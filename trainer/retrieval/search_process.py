"""The search process: ``python -m trainer.retrieval.search_process GIVEN FOUND PARENT``.

Started by :class:`trainer.retrieval.own_process.OwnSearch`, which is the only
one to talk to it: a request is one JSON line on standard input, its answer one
JSON line on standard output; vectors and results lie in the files that the
descriptors GIVEN and FOUND stand for.  It loads numpy and faiss, never torch.

It ends when its standard input does, or when its parent is no longer PARENT,
also in the middle of a search: faiss lets other threads run meanwhile.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import selectors
import sys
import threading
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from trainer.retrieval.exchange import mapped, write_arrays
from trainer.retrieval.index_settings import IndexSettings

_LOOK_EVERY_S: Final = 1.0


class _Server:
    """Holds at most one pool and answers one request after the other."""

    def __init__(self, given: int, found: int) -> None:
        self._given = given
        self._found = found
        self._exact: Any = importlib.import_module("trainer.retrieval.exact")
        self._index: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what ``request`` asks."""
        do = request["do"]
        if do in ("index", "make"):
            self._index = None  # the old pool goes before the new one takes its room
            self._index = (
                self._made(request) if do == "make" else self._exact.ExactIndex(self._vectors(request))
            )
        elif do == "forget":
            self._index = None
        elif self._index is None:
            raise LookupError("there is no pool to search")
        elif do in ("learn", "add"):
            getattr(self._index, do)(self._vectors(request))
        elif do == "write":
            self._index.write(Path(request["path"]))
        else:
            self._find(request)
        return {"done": do}

    def _indexed(self, request: dict[str, Any]) -> Any:
        return self._exact.ExactIndex(self._vectors(request))

    def _made(self, request: dict[str, Any]) -> Any:
        approximate: Any = importlib.import_module("trainer.retrieval.approximate")
        settings = IndexSettings(**request["settings"])
        return approximate.ApproximateIndex(settings, num_documents=request["rows"], length=request["length"])

    def _find(self, request: dict[str, Any]) -> None:
        queries_BD = np.array(self._vectors(request))
        if request["do"] == "time":
            write_arrays(self._found, [self._index.latencies(queries_BD, k=request["k"])])
        else:
            write_arrays(self._found, self._index.search(queries_BD, k=request["k"]))

    def _vectors(self, request: dict[str, Any]) -> NDArray[np.float32]:
        return mapped(self._given, (request["rows"], request["length"]), np.float32)


def main() -> None:
    """Answer until nobody asks any more."""
    given, found, parent = (int(text) for text in sys.argv[1:4])
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, parent), name="requests", daemon=True).start()
    server = _Server(given, found)
    _say(answers, {"done": "start"})
    while True:
        request = json.loads(requests.get())
        try:
            answer = server.answer(request)
        except Exception as exc:  # noqa: BLE001 - the trainer is told, and decides
            answer = {"error": f"{type(exc).__name__}: {exc}"}
        _say(answers, answer)


def _say(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _listen(requests: queue.SimpleQueue[str], parent: int) -> None:
    """Take requests from standard input; end the process, whatever it is doing, when there can be none."""
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    rest = b""
    while os.getppid() == parent:
        if not selector.select(_LOOK_EVERY_S):
            continue
        received = os.read(0, 65_536)
        if not received:
            break
        *lines, rest = (rest + received).split(b"\n")
        for line in lines:
            requests.put(line.decode("ascii"))
    os._exit(0)


if __name__ == "__main__":
    main()
