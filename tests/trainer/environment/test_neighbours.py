"""Others are seen at work."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trainer.environment.neighbours import busy_cores

pytestmark = pytest.mark.process
BUSY = """
import time
end = time.monotonic() + 30
print("at work", flush=True)
while time.monotonic() < end:
    pass
"""


def test_a_busy_process_is_seen() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        seen = max(busy_cores(0.5) for _ in range(5))
        other.kill()
    assert seen > 0.3
