"""The process that answers: ``python -m trainer.asking RUN_DIR PARENT``.

Started by :class:`trainer.asking.model_process.ModelProcess`, which is the only
one to talk to it.  A request is one JSON line on standard input, ``{"do":
"open", "checkpoint", "device"}`` or ``{"do": "answer", "question"}``; the answer
is one JSON line on standard output, before it any number of ``{"tell",
"fraction"}``.  Whatever libraries print goes to standard error.

It ends when its standard input does, or when its parent is no longer PARENT,
whatever it is doing.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import queue
import sys
import threading
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

from trainer.asking.declaration import KINDS, Answerer, QuestionError, answerer_of
from trainer.asking.faults import Fault
from trainer.asking.lines import lines_from
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes

_AGAIN: Final = "The model is opened with its run's dataset and settings. Put that right, then ask again."


class _Desk:
    """Holds at most one model."""

    def __init__(self, paths: RunPaths, answers: IO[str]) -> None:
        self._paths = paths
        self._answers = answers
        self._answerer: Answerer | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what ``request`` asks."""
        if request["do"] == "open":
            self._answerer = None  # the old model goes before the new one takes its room
            self._answerer = self._opened(Path(request["checkpoint"]), request["device"])
            return {"done": "open"}
        if self._answerer is None:
            raise LookupError("no model is open")
        return {"done": "answer", "answer": _checked(self._answerer.answer(request["question"]))}

    def tell(self, detail: str, fraction: float) -> None:
        """Pass on how far it is."""
        self.say({"tell": detail, "fraction": min(1.0, max(0.0, float(fraction)))})

    def say(self, word: dict[str, Any]) -> None:
        self._answers.write(json.dumps(_plain(word)) + "\n")
        self._answers.flush()

    def _opened(self, checkpoint: Path, device: str) -> Answerer:
        spec = RunSpec.load(self._paths)
        recipe = recipes()[spec.recipe]
        self.tell("importing libraries", 0.0)
        open_answerer = answerer_of(recipe.answerer)
        self.tell("reading the checkpoint", 0.0)
        trained_with = _params_of(checkpoint, spec)
        known = recipe.Params.model_fields
        asked_on = {"device": device} if "device" in known else {}
        return open_answerer(
            replace(spec, params={**trained_with, **asked_on}), self._paths, checkpoint, self.tell
        )


def _params_of(checkpoint: Path, spec: RunSpec) -> dict[str, Any]:
    """Those of the attempt that wrote it: the ladder may have changed some since, or before."""
    engine = importlib.import_module("trainer.engine.checkpoints")
    state: dict[str, Any] = engine.load(checkpoint, is_mapped=True)
    params = state.get("params")
    return dict(params) if isinstance(params, dict) else dict(spec.params)


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    kind = answer.get("kind")
    if kind not in KINDS:
        raise TypeError(f"the answer's kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    return answer


def _plain(value: Any) -> Any:
    """``value`` with null for every number that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value


def _fault(error: Exception, request: dict[str, Any]) -> dict[str, Any]:
    """``error`` as the person is told of it; what nobody expected goes to the log as well."""
    if isinstance(error, QuestionError):
        return {"kind": Fault.QUESTION.value, "message": error.message, "field": error.field}
    traceback.print_exception(error)
    engine = importlib.import_module("trainer.engine.checkpoints")
    if request["do"] == "open" and isinstance(error, (ValueError, OSError, engine.CheckpointError)):
        return {"kind": Fault.OPENING.value, "message": str(error), "hint": _AGAIN}
    return {"kind": Fault.BROKEN.value, "message": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer until nobody asks any more."""
    root, parent = Path(sys.argv[1]), int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, parent), name="requests", daemon=True).start()
    desk = _Desk(RunPaths(root), answers)
    while True:
        request = json.loads(requests.get())
        try:
            answer = desk.answer(request)
        except Exception as exc:  # noqa: BLE001 - the person is told, and the process stays
            answer = {"error": _fault(exc, request)}
        desk.say(answer)


def _listen(requests: queue.SimpleQueue[bytes], parent: int) -> None:
    """Take requests from standard input; end the process, whatever it is doing, when there can be none."""
    for line in lines_from(0, is_wanted=lambda: os.getppid() == parent):
        requests.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
