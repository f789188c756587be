"""What the machine does to a run: its disk fills up, its clock jumps, its memory ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.children.dashboard import Dashboard
from tests.children.nothing_lost import assert_nothing_is_left, assert_nothing_is_lost
from tests.trainer.supervisor.supervised import events, finish, new_run, start, states, supervise
from trainer.protocol.events import Stream

pytestmark = pytest.mark.process
ONCE = {"max_attempts": 1}
MEMORY_BYTES = 400 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_costs_reports_and_not_the_training_and_is_told(small_disk: Path) -> None:
    paths = new_run(small_disk, policy=ONCE)
    record = supervise(paths, "fills_its_folder_and_frees_it")
    assert (record.state, record.step) == ("finished", 205)
    told = events(paths, Stream.TRAINER)
    assert [event["step"] for event in told if event["type"] == "metrics"][-5:] == list(range(201, 206))
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    alerts = [event for event in told if event["type"] == "alert"]
    assert alerts[0]["title"] == "Reports were lost"
    assert states(paths) == ["starting", "running", "finished"]
    assert_nothing_is_left(paths)


def test_a_clock_that_jumps_neither_stalls_nor_loses_anything(tmp_path: Path) -> None:
    dashboard = Dashboard(tmp_path / "dashboard")
    with contextlib.closing(dashboard):
        paths = new_run(tmp_path, url=dashboard.start(), policy=ONCE | {"stall_after_s": 1})
        record = supervise(paths, "lives_through_clock_jumps", drain_s=20.0)
        assert (record.state, record.step) == ("finished", 40)
        assert states(paths) == ["starting", "running", "finished"]
        times = [event["t"] for event in events(paths, Stream.TRAINER)]
        assert times != sorted(times)
        assert_nothing_is_lost(paths, tmp_path / "dashboard")


@pytest.fixture
def small_memory() -> Iterator[Path]:
    """A control group with a limit of memory; its ``cgroup.procs`` takes who shall live in it."""
    group = _own_memory_group() / f"signalbox-test-{os.getpid()}"
    try:
        group.mkdir()
        limit = "memory.limit_in_bytes" if (group / "memory.limit_in_bytes").exists() else "memory.max"
        (group / limit).write_text(str(MEMORY_BYTES))
        with contextlib.suppress(OSError):
            (group / "memory.swap.max").write_text("0")
    except OSError:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip("control groups with a memory limit need root and a writable /sys/fs/cgroup")
    yield group
    group.rmdir()


def _own_memory_group() -> Path:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, place = line.split(":", 2)
        root = Path("/sys/fs/cgroup/memory") if "memory" in controllers.split(",") else None
        if root is not None:
            return root / place.lstrip("/") if (root / place.lstrip("/")).exists() else root
    return Path("/sys/fs/cgroup")


def test_a_kill_by_the_kernel_for_memory_is_told_as_one_with_its_evidence(
    tmp_path: Path, small_memory: Path
) -> None:
    paths = new_run(tmp_path, policy=ONCE)
    supervisor = start(paths, "eats_all_memory")
    (small_memory / "cgroup.procs").write_text(str(supervisor.pid))  # before it starts its trainer
    record = finish(supervisor, paths)
    assert (record.state, record.exit_signal) == ("failed", signal.SIGKILL)
    assert record.findings[0]["id"] == "oom_killer"
    assert "the kernel's counter of memory kills rose by 1" in record.findings[0]["lines"]
    assert_nothing_is_left(paths)
