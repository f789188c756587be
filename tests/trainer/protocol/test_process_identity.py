"""Two looks at one process agree; anything else is a stranger."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from trainer.protocol.process_identity import ProcessIdentity, Signalled, boot_id, start_ticks

US = ProcessIdentity(7, 1000.0, "this boot", 500)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (US, True),
        (replace(US, create_time=4600.0), True),  # somebody set the clock
        (replace(US, pid=8), False),
        (replace(US, start_ticks=501), False),  # the pid was given away again
        (replace(US, boot_id="the next boot"), False),
        (replace(US, boot_id="", start_ticks=None), True),  # an older record
        (replace(US, boot_id="", start_ticks=None, create_time=1000.2), False),
    ],
)
def test_ticks_and_boot_decide_and_the_wall_clock_only_where_they_are_unknown(
    other: ProcessIdentity, same: bool
) -> None:
    assert US.is_same(other) is same
    assert other.is_same(US) is same


def test_a_record_is_read_back_whole_and_also_by_its_two_old_fields() -> None:
    assert ProcessIdentity.read({**asdict(US), "cgroup": ""}) == US
    assert ProcessIdentity.read({"pid": 7, "create_time": 1000.0}) == ProcessIdentity(7, 1000.0)
    with pytest.raises(KeyError):
        ProcessIdentity.read({"pid": 7})


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_a_process_keeps_its_start_and_the_machine_its_boot() -> None:
    assert start_ticks(os.getpid()) == start_ticks(os.getpid()) is not None
    assert boot_id() == boot_id() != ""
    assert start_ticks(2**22 + 1) is None


@pytest.mark.process
def test_a_signal_reaches_the_process_held_and_nobody_after_its_end() -> None:
    sleeper = subprocess.Popen(["/bin/sleep", "600"])
    with Signalled(sleeper.pid) as held:
        held.send(signal.SIGKILL)
        assert sleeper.wait(10) == -signal.SIGKILL
        with pytest.raises(ProcessLookupError):
            held.send(signal.SIGKILL)
