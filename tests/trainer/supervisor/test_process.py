"""A trainer never goes on without its supervisor, however early that one dies."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT

# The child that runs the hook is no child of the process that made it: its supervisor has just died.
ORPHANED_BEFORE_EXEC = """
import os, signal, sys
from trainer.supervisor.process import _before_exec
signal.signal(signal.SIGTERM, lambda *_: None)  # as a supervisor does
hook = _before_exec(None)
if os.fork() == 0:
    trainer = os.fork()
    if trainer == 0:
        hook()
        os._exit(0)
    os._exit(abs(os.waitstatus_to_exitcode(os.waitpid(trainer, 0)[1])))
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_a_trainer_whose_supervisor_died_before_it_began_ends_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", ORPHANED_BEFORE_EXEC], cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 15, "the supervisor's own handler swallowed the signal"
