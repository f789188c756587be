"""What the machine does to a run: its disk fills up, its clock jumps, its memory ends."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.children.dashboard import Dashboard
from tests.children.nothing_lost import assert_nothing_is_left, assert_nothing_is_lost
from tests.trainer.supervisor.supervised import events, finish, new_run, start, states, supervise, wait_until
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import ExitRecord
from trainer.supervisor.reserve import RESERVE_BYTES

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


def test_the_end_of_a_run_finds_room_on_a_full_disk(small_disk: Path) -> None:
    paths = new_run(small_disk, policy=ONCE)
    record = supervise(paths, "fills_its_folder_and_dies")
    assert (record.state, record.exit_code, record.step) == ("failed", 1, 5)
    assert record.findings
    assert shutil.disk_usage(small_disk).free < RESERVE_BYTES
    assert ExitRecord(**json.loads(paths.attempt_exit(1).read_text())).state == "failed"
    assert states(paths) == ["starting", "running", "failed"]
    assert [event["type"] for event in events(paths, Stream.SUPERVISOR)][-2:] == ["finding", "state"]
    assert not (paths.root / ".reserve").exists()
    assert_nothing_is_left(paths)


def test_an_end_no_disk_takes_is_told_over_the_link_and_written_when_there_is_room(
    tmp_path: Path, small_disk: Path
) -> None:
    dashboard = Dashboard(tmp_path / "dashboard")
    with contextlib.closing(dashboard):
        paths = new_run(small_disk, url=dashboard.start(), policy=ONCE)
        supervisor = start(paths, "takes_the_last_room_and_dies", drain_s=20.0)
        wait_until(lambda: dashboard.ends)
        assert not paths.exit.exists()
        assert list(paths.root.glob(".exit.json*")) == []
        (paths.root / "ballast").unlink()
        record = finish(supervisor, paths)
        (told,) = dashboard.ends
        assert (told["state"]["state"], told["state"]["exit_code"]) == ("failed", 1)
        assert told["findings"] == record.findings
        assert record.state == "failed"
        assert states(paths)[-1] == "failed"
        assert_nothing_is_lost(paths, tmp_path / "dashboard")


def test_a_part_of_an_exit_record_is_never_read_as_an_end(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    ExitRecord("run-1", 1, "failed", "r", 1, None, False, 5, 1.0, 2.0).save(paths)
    whole = paths.exit.read_bytes()
    for length in range(len(whole)):
        paths.exit.write_bytes(whole[:length])
        with pytest.raises(ProtocolError):
            ExitRecord.load(paths)


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
