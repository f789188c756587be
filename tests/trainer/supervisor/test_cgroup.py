"""The run's control group, on machines where one may be made."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.trainer.supervisor.supervised import (
    living,
    new_run,
    start,
    steps_reported,
    trainer_pid,
    wait_until,
)
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.cgroup import Cgroup
from trainer.supervisor.drain import drain
from trainer.supervisor.recovery import clear_leftovers, process_record, survivors

pytestmark = pytest.mark.process


@pytest.fixture
def group(tmp_path: Path) -> Cgroup:
    made = Cgroup.create(str(tmp_path))
    if made is None:
        pytest.skip("this machine lets nobody make control groups")
    return made


def sleeper_in(group: Cgroup) -> subprocess.Popen[bytes]:
    door = group.descriptor()
    try:
        return subprocess.Popen(["/bin/sleep", "600"], preexec_fn=lambda: os.write(door, b"0") and None)
    finally:
        os.close(door)


def test_who_is_born_into_it_is_a_member_until_it_ends(group: Cgroup) -> None:
    assert group.pids() == []
    sleeper = sleeper_in(group)
    assert group.pids() == [sleeper.pid]
    group.kill()
    assert sleeper.wait(10) == -9
    group.remove()
    assert not group.path.exists()
    assert group.pids() == []


def test_it_is_found_again_by_its_record_and_never_taken_for_another_runs(
    group: Cgroup, tmp_path: Path
) -> None:
    found = Cgroup.of_record(str(group.path), run_dir=str(tmp_path))
    assert found is not None
    assert found.path == group.path
    assert Cgroup.of_record(str(group.path), run_dir="/another/run") is None
    assert Cgroup.of_record(str(group.path.parent), run_dir=str(tmp_path)) is None
    assert Cgroup.of_record(None, run_dir=str(tmp_path)) is None
    group.remove()
    assert Cgroup.of_record(str(group.path), run_dir=str(tmp_path)) is None


def leave_fugitives(tmp_path: Path) -> tuple[list[int], Path]:
    """A killed supervisor whose deaf trainer and unmarked grandchildren go on."""
    paths = new_run(tmp_path, grace_s=0.3)
    supervisor = start(paths, "keeps_children")
    wait_until((paths.root / "pids.json").exists)
    wait_until(lambda: steps_reported(paths) == 3)
    pids = json.loads((paths.root / "pids.json").read_text())
    supervisor.kill()
    supervisor.wait()
    return [*pids, trainer_pid(paths)], paths.root


def group_of(paths: RunPaths) -> str:
    return str(json.loads(process_record(paths, 1).read_text())["cgroup"])


@pytest.mark.usefixtures("group")
def test_fugitives_of_a_killed_supervisor_are_found_without_parent_session_or_mark(tmp_path: Path) -> None:
    pids, root = leave_fugitives(tmp_path)
    paths = new_run(root.parent)
    assert {process.pid for process in survivors(paths)} == set(pids)
    clear_leftovers(paths, grace_s=0.2)
    assert living(pids) == []
    assert Cgroup.of_record(str(group_of(paths)), run_dir=str(paths.root)) is None, "the group is left behind"


def test_shipping_the_rest_of_a_lost_run_ends_what_its_supervisor_left_running(tmp_path: Path) -> None:
    _, root = leave_fugitives(tmp_path)
    paths = new_run(root.parent, grace_s=0.3)
    left = [process.pid for process in survivors(paths)]
    assert trainer_pid(paths) in left
    assert process_record(paths, 1).exists()
    drain(paths, timeout_s=0.0)
    assert living(left) == []
