"""The companion that keeps a Mac awake: it leaves by itself, is helped when late, and may be missing."""

from __future__ import annotations

import sys
import time

import pytest

from trainer.supervisor import awake
from trainer.supervisor.awake import Companion

pytestmark = pytest.mark.process


def test_a_companion_that_leaves_with_the_trainer_is_collected() -> None:
    companion = Companion([sys.executable, "-c", ""])
    companion.close()
    assert companion._process is not None
    assert companion._process.returncode == 0


def test_a_companion_that_stays_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awake, "_LEAVE_S", 0.1)
    companion = Companion([sys.executable, "-c", "import time; time.sleep(60)"])
    started = time.monotonic()
    companion.close()
    assert time.monotonic() - started < 20
    assert companion._process is not None
    assert companion._process.returncode == -9


@pytest.mark.parametrize("argv", [None, ["/no/such/program"]])
def test_without_one_nothing_happens(argv: list[str] | None) -> None:
    Companion(argv).close()
