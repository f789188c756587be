"""A real supervisor over a user's own script: ``supervisor_of_script RUN_DIR SCRIPT [ARGUMENT...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.supervise import supervise


def main() -> None:
    """Supervise until the run has ended."""
    run_dir, script = Path(sys.argv[1]), sys.argv[2:]

    def make_command(root: Path, attempt: int) -> list[str]:
        return [sys.executable, "-u", "-X", "faulthandler", *script]

    supervise(RunPaths(run_dir), make_command=make_command, drain_s=0.0)


if __name__ == "__main__":
    main()
