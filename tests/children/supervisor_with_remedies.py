"""A real supervisor with remedies of its own: ``supervisor_with_remedies HABIT RUN_DIR WAIT_S``.

The recipe can halve its batch and mine in another process; retries wait ``WAIT_S``.
"""

from __future__ import annotations

import logging
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainer.protocol.run_folder import RunPaths
from trainer.protocol.rungs import Rung
from trainer.recipes.declaration import Remedy
from trainer.supervisor.supervise import supervise


def _half(params: Mapping[str, Any]) -> dict[str, Any] | None:
    return {"batch_size": params["batch_size"] // 2} if params.get("batch_size", 0) > 1 else None


def _elsewhere(params: Mapping[str, Any]) -> dict[str, Any] | None:
    return None if params.get("search") == "own" else {"search": "own"}


REMEDIES = {
    Rung.HALVE_BATCH: Remedy("half the batch", _half, changes_numbers=True),
    Rung.MINING_PROCESS: Remedy("mine in a process of its own", _elsewhere),
}


def main() -> int:
    """Supervise until the run has ended."""
    logging.basicConfig(level=logging.WARNING)
    few = min(1024, resource.getrlimit(resource.RLIMIT_NOFILE)[0])  # as most systems give
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    habit, run_dir, wait_s = sys.argv[1], sys.argv[2], float(sys.argv[3])

    def make_command(root: Path, attempt: int) -> list[str]:
        flags = ["-u", "-X", "faulthandler", "-P", "-m", "tests.children.trainer_that_recovers"]
        return [sys.executable, *flags, habit, str(root), "--attempt", str(attempt)]

    supervise(
        RunPaths(Path(run_dir)),
        make_command=make_command,
        remedies=lambda recipe: REMEDIES,
        first_wait_s=wait_s,
        drain_s=0.0,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
