"""A real supervisor over a trainer with a habit: ``supervisor_of HABIT RUN_DIR [DRAIN_S]``.

Two habits are no trainer at all: ``nothing``, a module that is not there, and ``no interpreter``.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from tests.children.jumping_clock import let_the_clock_jump
from tests.children.trainer_that_dies import DEATHS
from tests.children.trainer_that_hangs import HANGS
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.run_lock import RunLocked
from trainer.supervisor.supervise import supervise


def main() -> int:
    """Supervise one attempt; 3 when somebody else does."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("trainer").setLevel(logging.INFO)
    habit, run_dir = sys.argv[1], sys.argv[2]
    if habit == "lives_through_clock_jumps":
        let_the_clock_jump()
    drain_s = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0

    def make_command(root: Path, attempt: int) -> list[str]:
        if habit == "no interpreter":
            return ["/no/such/python", "train.py"]
        flags = ["-u", "-X", "faulthandler", "-P"]
        program = f"tests.children.{_module_of(habit)}"
        return [sys.executable, *flags, "-m", program, habit, str(root), "--attempt", str(attempt)]

    try:
        supervise(RunPaths(Path(run_dir)), make_command=make_command, drain_s=drain_s)
    except RunLocked as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 3
    return 0


def _module_of(habit: str) -> str:
    if habit == "nothing":
        return "no_such_module"
    if habit in HANGS:
        return "trainer_that_hangs"
    return "trainer_that_dies" if habit in DEATHS else "trainer_that"


if __name__ == "__main__":
    sys.exit(main())
