"""The kernel's counter of memory kills, in each place it may stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer.supervisor.oom_kills import (
    count_oom_kills,
    memory_limit_bytes,
    oom_kills_are_own,
    read_oom_kills,
)


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


def _write(root: Path, **files: str) -> dict[str, Path]:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {"proc": root / "proc", "cgroups": root / "cgroups"}


def test_kills_in_groups_below_are_somebody_elses(tmp_path: Path) -> None:
    places = _write(
        tmp_path,
        proc__self__cgroup="0::/job\n",
        cgroups__job__memory_dot_events="oom_kill 7\n",
        cgroups__job__memory_dot_events_dot_local="oom_kill 1\n",
    )
    kills = read_oom_kills(**places)
    assert kills is not None
    assert (kills.count, kills.is_own) == (1, True)


def test_the_machines_counter_is_known_to_be_everybodys(tmp_path: Path) -> None:
    places = _write(tmp_path, proc__self__cgroup="8:pids:/\n", proc__vmstat="oom_kill 4\n")
    assert count_oom_kills(**places) == 4
    assert not oom_kills_are_own(**places)


def test_the_tightest_limit_around_it_counts(tmp_path: Path) -> None:
    places = _write(
        tmp_path,
        proc__self__cgroup="0::/pod/job\n",
        proc__meminfo="MemTotal:       16384 kB\n",
        cgroups__pod__memory_dot_max="8388608\n",
        cgroups__pod__job__memory_dot_max="max\n",
    )
    assert memory_limit_bytes(**places) == 8388608
    (tmp_path / "cgroups/pod/memory.max").unlink()
    assert memory_limit_bytes(**places) == 16384 * 1024
