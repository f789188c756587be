"""The checkpoints that lie in a run's folder now; the database also knows those that were removed since."""

from __future__ import annotations

from typing import Any

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object
from trainer.protocol.run_folder import RunPaths


def checkpoints_in(paths: RunPaths) -> list[dict[str, Any]]:
    """``{"step", "epoch", "best", "last", "created_at"}`` of each, oldest step first; at most one is best."""
    found = []
    for path in paths.checkpoints.glob("step_*.json"):
        try:
            manifest = read_object(path)
            found.append(
                {
                    "step": int(manifest["step"]),
                    "epoch": int(manifest["epoch"]),
                    "best": bool(manifest["best"]),
                    "last": False,
                    "created_at": float(manifest["created_at"]),
                }
            )
        except (ProtocolError, KeyError, TypeError, ValueError):
            continue  # removed meanwhile, or not written by us
    found.sort(key=lambda one: one["step"])
    best = max((one["step"] for one in found if one["best"]), default=None)
    for one in found:
        one["best"] = one["step"] == best
        one["last"] = one is found[-1]
    return found
