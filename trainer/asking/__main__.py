"""The process that answers: ``python -m trainer.asking RUN_DIR PARENT``.

Started by :class:`trainer.asking.model_process.ModelProcess`, which is the only
one to talk to it, as :mod:`trainer.asking.child` says.  A request is ``{"do":
"open", "checkpoint", "device"}`` or ``{"do": "answer", "question"}``.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from trainer.asking.child import Voice, serve
from trainer.asking.declaration import KINDS, Answerer, QuestionError, answerer_of
from trainer.asking.faults import Fault
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes

_AGAIN: Final = "The model is opened with its run's dataset and settings. Put that right, then ask again."


class _Desk:
    """Holds at most one model."""

    def __init__(self, paths: RunPaths, voice: Voice) -> None:
        self._paths = paths
        self._tell = voice.tell
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

    def _opened(self, checkpoint: Path, device: str) -> Answerer:
        spec = RunSpec.load(self._paths)
        recipe = recipes()[spec.recipe]
        self._tell("importing libraries", 0.0)
        open_answerer = answerer_of(recipe.answerer)
        self._tell("reading the checkpoint", 0.0)
        trained_with = _params_of(checkpoint, spec)
        known = recipe.Params.model_fields
        asked_on = {"device": device} if "device" in known else {}
        return open_answerer(
            replace(spec, params={**trained_with, **asked_on}), self._paths, checkpoint, self._tell
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


def _fault(error: Exception, request: dict[str, Any]) -> dict[str, Any] | None:
    """``error`` in words, where it is one that may happen."""
    if isinstance(error, QuestionError):
        return {"kind": Fault.QUESTION.value, "message": error.message, "field": error.field}
    engine = importlib.import_module("trainer.engine.checkpoints")
    if request["do"] == "open" and isinstance(error, (ValueError, OSError, engine.CheckpointError)):
        traceback.print_exception(error)
        return {"kind": Fault.OPENING.value, "message": str(error), "hint": _AGAIN}
    return None


def main() -> None:
    """Answer until nobody asks any more."""
    root, parent = Path(sys.argv[1]), int(sys.argv[2])
    voice = Voice()
    serve(voice, _Desk(RunPaths(root), voice).answer, parent=parent, fault_of=_fault)


if __name__ == "__main__":
    main()
