"""The process that loads checkpoints and asks them: ``python -m trainer.backfill RUN_DIR PARENT``.

Started by :mod:`trainer.backfill.job`, spoken to as :mod:`trainer.asking.child`
says.  Requests: ``{"do": "prepare", "device", "attempt", "into", "probes"}``
with the path of added probes or null, ``{"do": "open", "checkpoint"}`` and
``{"do": "snapshot", "step", "epoch"}``.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

from trainer.asking.child import Voice, serve
from trainer.asking.faults import Fault
from trainer.protocol.probe_files import ProbeRowError, read_probes
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes


class _Desk:
    """Holds the prober, whose module loads torch."""

    def __init__(self, paths: RunPaths, voice: Voice) -> None:
        self._paths = paths
        self._voice = voice
        self._prober: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what ``request`` asks."""
        if request["do"] == "prepare":
            self._prober = self._prepared(request)
            return {"done": "prepare"}
        if self._prober is None:
            raise LookupError("nothing is prepared")
        if request["do"] == "open":
            return {"done": "open", **self._prober.open(Path(request["checkpoint"]))}
        return {"done": "snapshot", **self._prober.snapshot(step=request["step"], epoch=request["epoch"])}

    def _prepared(self, request: dict[str, Any]) -> Any:
        spec = RunSpec.load(self._paths)
        probes = None if request["probes"] is None else read_probes(Path(request["probes"]))
        self._voice.tell("importing libraries", 0.0)
        probing = importlib.import_module("trainer.engine.checkpoint_probing")
        return probing.CheckpointProber(
            spec,
            rebuild=probing.rebuild_of(recipes()[spec.recipe].rebuild),
            into=RunPaths(Path(request["into"])),
            attempt=request["attempt"],
            device=request["device"],
            added=probes,
            tell=self._voice.tell,
        )


def _fault(error: Exception, request: dict[str, Any]) -> dict[str, Any] | None:
    """``error`` in words, where it is one that may happen."""
    if isinstance(error, ProbeRowError):
        return {"kind": Fault.QUESTION.value, "message": f"The added probes: {error}.", "field": "probes"}
    engine = importlib.import_module("trainer.engine.checkpoints")
    if isinstance(error, (ValueError, OSError, engine.CheckpointError)):
        traceback.print_exception(error)
        return {"kind": Fault.OPENING.value, "message": str(error)}
    return None


def main() -> None:
    """Answer until nobody asks any more."""
    root, parent = Path(sys.argv[1]), int(sys.argv[2])
    voice = Voice()
    serve(voice, _Desk(RunPaths(root), voice).answer, parent=parent, fault_of=_fault)


if __name__ == "__main__":
    main()
