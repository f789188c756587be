"""The kernel's counter of memory kills, in each place it may stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer.supervisor.oom_kills import count_oom_kills


@pytest.mark.parametrize(
    ("group", "file", "content"),
    [
        ("0::/job/a\n", "cgroups/job/a/memory.events", "low 0\noom 3\noom_kill 2\n"),
        (
            "9:memory:/a\n",
            "cgroups/memory/a/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
        ),
        ("9:cpu,memory:/host\n", "cgroups/memory/memory.oom_control", "oom_kill 2\n"),
        ("8:pids:/\n", "proc/vmstat", "nr_free_pages 9\noom_kill 2\n"),
    ],
)
def test_the_groups_own_counter_comes_before_the_machines(
    tmp_path: Path, group: str, file: str, content: str
) -> None:
    for name, text in (("proc/vmstat", "oom_kill 99\n"), ("proc/self/cgroup", group), (file, content)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert count_oom_kills(proc=tmp_path / "proc", cgroups=tmp_path / "cgroups") == 2


def test_without_a_counter_nothing_is_claimed(tmp_path: Path) -> None:
    assert count_oom_kills(proc=tmp_path, cgroups=tmp_path) is None
