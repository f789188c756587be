"""Rules about the machine and the process: disk, memory, stall, crash."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.trainer.supervisor.alerts.rig import looks
from trainer.supervisor.alerts.crash import crash_alarm
from trainer.supervisor.alerts.disk_space import DiskSpace
from trainer.supervisor.alerts.memory_leak import MemoryLeak
from trainer.supervisor.alerts.memory_now import MemoryGauge
from trainer.supervisor.alerts.memory_room import MemoryRoom
from trainer.supervisor.alerts.rule import Level, Memory, Situation
from trainer.supervisor.alerts.series import Book
from trainer.supervisor.alerts.stall import Stalled
from trainer.supervisor.verdict import Verdict

MIB, GIB = 2**20, 2**30


def test_a_disk_that_cannot_hold_two_more_checkpoints_is_almost_full() -> None:
    seen = [Situation(free_bytes=free, checkpoint_bytes=GIB) for free in (5 * GIB, 2 * GIB - 1, 2 * GIB + 1)]
    assert looks(DiskSpace(), *seen, replace(seen[0])) == [False, True, True, False]


def test_before_the_first_checkpoint_a_little_room_is_enough() -> None:
    assert looks(DiskSpace(), Situation(free_bytes=300 * MIB), Situation(free_bytes=100 * MIB)) == [
        False,
        True,
    ]
    assert looks(DiskSpace(), Situation(free_bytes=None)) == [False]


def test_a_disk_that_cannot_hold_the_next_checkpoint_is_an_error() -> None:
    alarm = DiskSpace().look(Book(), Situation(free_bytes=GIB // 2, checkpoint_bytes=GIB, step=7))
    assert alarm is not None
    assert (alarm.level, alarm.step) == (Level.ERROR, 7)
    assert "512 MiB are free" in alarm.text


def short(share: float) -> Situation:
    return Situation(memory=Memory(16 * GIB, int(share * 16 * GIB), "this container"), rss_bytes=15.0 * GIB)


def test_memory_that_stays_nearly_used_up_is_told_until_a_tenth_is_free() -> None:
    assert looks(MemoryRoom(), *[short(0.03)] * 5, short(0.08), short(0.2)) == [
        *[False] * 4, True, True, False,
    ]  # fmt: skip


def test_a_moment_at_the_limit_is_no_news() -> None:
    assert not any(looks(MemoryRoom(), *([short(0.03)] * 3 + [short(0.2)]) * 5))


def rss(curve: Callable[[float], float], *, seconds: int = 3000) -> list[Situation]:
    memory = Memory(16 * GIB, 8 * GIB, "this machine")
    return [Situation(at=float(at), rss_bytes=curve(at), memory=memory) for at in range(seconds)]


def test_memory_that_rises_steadily_is_a_leak() -> None:
    rule = MemoryLeak()
    found = looks(rule, *rss(lambda at: 2 * GIB + at * MIB + 5 * MIB * math.sin(at)))
    assert found[-1]
    assert not any(found[:700])
    alarm = rule.look(Book(), rss(lambda at: 5 * GIB, seconds=3001)[-1])
    assert alarm is not None
    assert "MiB a minute" in alarm.text


@pytest.mark.parametrize(
    "curve",
    [
        lambda at: 2 * GIB + 3 * GIB * (1 - math.exp(-at / 300)),  # a cache that fills
        lambda at: 2 * GIB + (at % 300) * 8 * MIB,  # sawtooth of evaluations
        lambda at: 2 * GIB + (2 * GIB if at > 1500 else 0),  # one step up
        lambda at: 2 * GIB + at * 0.01 * MIB,  # too little to matter
        lambda at: 2 * GIB,
    ],
)
def test_memory_that_rises_otherwise_is_none(curve: Callable[[float], float]) -> None:
    assert not any(looks(MemoryLeak(), *rss(curve)))


def test_a_leak_that_has_stopped_is_over() -> None:
    grown = rss(lambda at: 2 * GIB + min(at, 2500) * MIB, seconds=6000)
    found = looks(MemoryLeak(), *grown)
    assert True in found
    assert found[-1] is False


def test_a_stall_lasts_as_long_as_the_verdict() -> None:
    stalled = Situation(stall="deadlocked: no progress for 61 s in phase training")
    assert looks(Stalled(), Situation(), stalled, stalled, Situation()) == [False, True, True, False]


def test_only_a_failure_is_a_crash() -> None:
    assert crash_alarm(Verdict("stopped", "stopped as asked at step 5"), step=5) is None
    assert crash_alarm(Verdict("finished", "finished at step 5"), step=5) is None
    alarm = crash_alarm(Verdict("failed", "the trainer was ended by SIGSEGV"), step=5)
    assert alarm is not None
    assert alarm.text.startswith("The trainer was ended by SIGSEGV (step 5).")


def test_a_container_with_a_limit_counts_before_the_machine(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/box/inner\n")
    inner = tmp_path / "sys/fs/cgroup/box/inner"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (inner / "memory.current").write_text("1\n")
    (inner.parent / "memory.max").write_text(f"{100 * MIB}\n")
    (inner.parent / "memory.current").write_text(f"{99 * MIB}\n")
    (inner.parent / "memory.stat").write_text(f"anon 5\ninactive_file {9 * MIB}\n")
    assert MemoryGauge(tmp_path).read() == Memory(100 * MIB, 10 * MIB, "this container")


def test_an_old_control_group_counts_too(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("4:cpu:/x\n3:memory:/box\n")
    box = tmp_path / "sys/fs/cgroup/memory/box"
    box.mkdir(parents=True)
    (box / "memory.limit_in_bytes").write_text(f"{100 * MIB}\n")
    (box / "memory.usage_in_bytes").write_text(f"{99 * MIB}\n")
    assert MemoryGauge(tmp_path).read() == Memory(100 * MIB, MIB, "this container")


def test_without_control_groups_the_machine_is_the_limit(tmp_path: Path) -> None:
    memory = MemoryGauge(tmp_path).read()
    assert memory is not None
    assert memory.place == "this machine"
