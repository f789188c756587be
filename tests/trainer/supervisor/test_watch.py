"""Verdicts and limits, from every combination that matters, without a process."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from trainer.protocol.run_folder import Heartbeat
from trainer.supervisor.hangs import Evidence, Hang, Wait, in_words, verdict
from trainer.supervisor.limits import Limits, Sign
from trainer.supervisor.process_state import ProcessState, ThreadTimes, wait_of
from trainer.supervisor.stacks import place, threads
from trainer.supervisor.watch import Watch, Word

QUIET = Evidence("training", beat_age_s=0.5, progress_age_s=61.0, cpu_percent=0.1)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Hang.DEADLOCKED),
        ({"beat_age_s": 61.0, "waits_for": Wait.LOCK}, Hang.DEADLOCKED),
        ({"waits_for": Wait.CHILD}, Hang.DEADLOCKED),
        ({"waits_for": Wait.PIPE}, Hang.BLOCKED_ON_IO),
        ({"waits_for": Wait.FILE, "phase": "saving"}, Hang.BLOCKED_ON_IO),
        ({"cpu_percent": 100.0}, Hang.BUSY_STUCK),
        ({"cpu_percent": 100.0, "beat_age_s": 61.0}, Hang.BUSY_STUCK),
        ({"cpu_percent": 12.0, "running_share": 1.0}, Hang.BUSY_STUCK),  # spins on a crowded machine
        ({"cpu_percent": 12.0}, Hang.SLOW),
        ({"gpu_percent": 90.0}, Hang.SLOW),
        ({"cpu_percent": 100.0, "phase": "evaluating"}, Hang.SILENT_PHASE),
        ({"phase": "mining"}, Hang.DEADLOCKED),
        ({"is_suspended": True, "beat_age_s": 6.0, "progress_age_s": 6.0, "cpu_percent": None}, Hang.STOPPED),
        ({"is_suspended": True, "beat_age_s": 4.0}, None),
        ({"phase": "paused"}, None),
        ({"phase": "paused", "is_suspended": True, "beat_age_s": 99.0}, None),
        ({"is_disk_full": True, "beat_age_s": 61.0}, None),
        ({"progress_age_s": 59.0}, None),
        ({"cpu_percent": None}, None),
    ],
)
def test_the_verdict_follows_from_the_evidence(changes: dict[str, object], expected: Hang | None) -> None:
    seen = replace(QUIET, **changes)  # type: ignore[arg-type]  # the table holds fields of every type
    assert verdict(seen, limit_s=60.0, suspended_limit_s=5.0) == expected


@pytest.mark.parametrize("hang", list(Hang))
def test_every_verdict_reads_as_a_sentence(hang: Hang) -> None:
    words = in_words(hang, replace(QUIET, waits_for=Wait.PIPE))
    assert " s" in words
    assert not words.endswith(".")


def watched(limits: Limits, *signs: tuple[float, int], phase: str = "training") -> None:
    """Let the limits see ``(progress_at, step)``, each first looked at when it is new."""
    for progress_at, step in signs:
        limits.learn(Sign(phase, step, progress_at, seen_at=progress_at))


def test_a_run_that_has_shown_nothing_gets_the_floors() -> None:
    limits = Limits({})
    assert limits.limit_s("training", has_stepped=True) == 60.0
    assert limits.limit_s("training", has_stepped=False) == 600.0
    assert limits.limit_s("loading", has_stepped=False) == 600.0
    for phase in ("evaluating", "mining", "snapshotting", "saving", "a phase of another version"):
        assert limits.limit_s(phase, has_stepped=True) >= 120.0


def test_after_five_steps_the_limit_is_five_times_the_longest_and_at_least_ten_seconds() -> None:
    limits = Limits({})
    watched(limits, *((0.1 * step, step) for step in range(5)))
    assert limits.limit_s("training", has_stepped=True) == 60.0
    watched(limits, (0.5, 5))
    assert limits.limit_s("training", has_stepped=True) == 10.0
    watched(limits, (4.5, 6))
    assert limits.limit_s("training", has_stepped=True) == 20.0


def test_before_that_a_slow_step_makes_the_limit_longer_already() -> None:
    limits = Limits({})
    watched(limits, (0.0, 1), (30.0, 2))
    assert limits.limit_s("training", has_stepped=True) == 150.0


def test_the_first_step_teaches_nothing_about_the_others() -> None:
    limits = Limits({}, from_step=100)
    watched(limits, (0.0, 100), (300.0, 101), *((300.0 + step, 101 + step) for step in range(1, 6)))
    assert limits.limit_s("training", has_stepped=True) == 10.0


def test_many_steps_between_two_looks_are_not_taken_for_one_long_one() -> None:
    limits = Limits({})
    watched(limits, *((10.0 * look, 100 * look) for look in range(10)))
    assert limits.limit_s("training", has_stepped=True) == 10.0


def test_a_phase_that_was_passed_three_times_is_known() -> None:
    limits = Limits({})
    for start in (0.0, 100.0, 200.0):
        assert limits.limit_s("evaluating", has_stepped=True) >= 300.0
        limits.learn(Sign("evaluating", 5, start, seen_at=start))
        limits.learn(Sign("evaluating", 5, start, seen_at=start + 4.0))
        limits.learn(Sign("training", 6, start + 4.1, seen_at=start + 4.2))
    assert limits.limit_s("evaluating", has_stepped=True) == 20.0
    assert limits.limit_s("saving", has_stepped=True) == 300.0


def test_a_pass_is_noticed_also_when_the_steps_between_were_too_quick_to_be_seen() -> None:
    limits = Limits({})
    watched(limits, *((float(step), step) for step in range(4)), phase="evaluating")
    assert limits.limit_s("evaluating", has_stepped=True) == 10.0


def test_saving_keeps_a_longer_floor_because_disks_serve_others_too() -> None:
    limits = Limits({})
    for step in range(8):
        watched(limits, (float(step), step), phase="saving" if step % 2 else "training")
    assert limits.limit_s("saving", has_stepped=True) == 30.0


def test_a_stall_that_ended_by_itself_is_let_be_the_next_time_and_not_five_times_as_long() -> None:
    limits = Limits({})
    watched(limits, *((0.1 * step, step) for step in range(6)))
    limits.learn(Sign("training", 5, 0.5, seen_at=40.5))
    limits.learn(Sign("training", 6, 40.5, seen_at=40.6), was_stalled=True)
    assert limits.limit_s("training", has_stepped=True) == 60.0


def test_a_suspension_teaches_nothing() -> None:
    limits = Limits({})
    watched(limits, *((0.1 * step, step) for step in range(6)))
    limits.forget_last()
    watched(limits, (500.0, 6))
    assert limits.limit_s("training", has_stepped=True) == 10.0


def test_a_policy_scales_every_limit_and_is_never_undercut() -> None:
    limits = Limits({"stall_after_s": 3})
    assert limits.limit_s("training", has_stepped=True) == 3.0
    assert limits.limit_s("saving", has_stepped=True) == 15.0
    assert limits.limit_s("loading", has_stepped=False) == 30.0
    assert limits.suspended_s == 3.0
    patient = Limits({"stall_after_s": 300})
    watched(patient, *((0.1 * step, step) for step in range(9)))
    assert patient.limit_s("training", has_stepped=True) == 300.0


@pytest.mark.parametrize(
    ("wchan", "wait"),
    [
        ("futex_wait_queue", Wait.LOCK),
        ("futex_do_wait", Wait.LOCK),
        ("pipe_write", Wait.PIPE),
        ("anon_pipe_write", Wait.PIPE),
        ("poll_schedule_timeout.constprop.0", Wait.ANSWER),
        ("unix_stream_read_generic", Wait.SOCKET),
        ("hrtimer_nanosleep", Wait.TIME),
        ("do_wait", Wait.CHILD),
        ("0", None),
        ("", None),
    ],
)
def test_names_of_kernel_functions_tell_what_is_waited_for(wchan: str, wait: Wait | None) -> None:
    assert wait_of(wchan) is wait


DUMP = """Thread 0x00007f0000000001 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait
  File "/venv/lib/python3.11/site-packages/trainer/telemetry/pulse.py", line 76 in _beat_until_ended

Current thread 0x00007f0000000002 (most recent call first):
{frames}
  File "/home/ada/recipe/train.py", line 12 in step
  File "<frozen runpy>", line 198 in _run_module_as_main
"""


@pytest.mark.parametrize(
    ("frames", "hang", "kind", "caller"),
    [
        (
            '  File "/usr/lib/python3.11/selectors.py", line 415 in select\n'
            '  File "/usr/lib/python3.11/multiprocessing/connection.py", line 930 in wait\n'
            '  File "/v/site-packages/torch/utils/data/dataloader.py", line 1132 in _try_get_data',
            Hang.BLOCKED_ON_IO,
            "DataLoader",
            "step",
        ),
        (
            '  File "/v/site-packages/torch/nn/functional.py", line 9 in linear\n'
            '  File "/v/site-packages/transformers/generation/utils.py", line 2 in _sample',
            Hang.BUSY_STUCK,
            "generate",
            "step",
        ),
        (
            '  File "/v/site-packages/faiss/swigfaiss.py", line 2 in search',
            Hang.DEADLOCKED,
            "OpenMP",
            "step",
        ),
        ('  File "/usr/lib/python3.11/threading.py", line 2 in join', Hang.DEADLOCKED, "lock", "step"),
        ('  File "/usr/lib/python3.11/socket.py", line 2 in readinto', Hang.BLOCKED_ON_IO, "io", "step"),
        ('  File "/home/ada/recipe/loop.py", line 2 in spin', Hang.BUSY_STUCK, "user code", "spin"),
        ('  File "/v/site-packages/numpy/x.py", line 2 in f', Hang.BUSY_STUCK, "user code", "step"),
    ],
)
def test_the_frame_that_matters_is_that_of_the_main_thread(
    frames: str, hang: Hang, kind: str, caller: str
) -> None:
    found = place(threads(DUMP.format(frames=frames)), hang)
    assert found is not None
    assert (found.kind, found.caller.function) == (kind, caller)


def test_a_dump_without_frames_has_no_place() -> None:
    assert place(threads("rubbish\nThread 0x0 (most recent call first):\n"), Hang.DEADLOCKED) is None


@pytest.mark.parametrize(
    "changes", [{"progress_at": None}, {"step": "many"}, {"beat_at": float("nan")}, {"phase": 7}]
)
def test_an_unreadable_heartbeat_is_none_at_all(tmp_path: Path, changes: dict[str, object]) -> None:
    path = tmp_path / "heartbeat.json"
    beat = Heartbeat(1, 1, "training", 1, 1.0, 1.0, 0.0)
    path.write_text(json.dumps(asdict(beat)))
    assert Heartbeat.load(path) == beat
    path.write_text(json.dumps(asdict(beat) | changes))
    assert Heartbeat.load(path) is None


class Clock:
    """A monotonic clock that a test turns, with a trainer that is seen at each half second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
        self.now = 1000.0
        self.state = ProcessState(is_running=False, waits_for=None, cpu_s=0.0)
        watch = "trainer.supervisor.watch"
        monkeypatch.setattr(f"{watch}.time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(f"{watch}.process_state.is_suspended", lambda pid: False)
        monkeypatch.setattr(f"{watch}.process_state.look", lambda pid: self.state)
        self.watch = Watch(1, root=root, policy={}, from_step=0)
        for step in range(1, 8):
            self.look(step, after_s=0.5)
        self.silent_since = self.now

    def look(self, step: int, *, after_s: float, advances: bool = True) -> None:
        """Turn the clock and look."""
        self.now += after_s
        heard_at = self.now if advances else self.silent_since
        beat = Heartbeat(1, 1, "training", step, heard_at, self.now, 0.0)
        self.watch.look(Word(beat, heard_at, "training", step))


def test_after_five_steps_a_deadlock_is_told_within_eleven_seconds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock(monkeypatch, tmp_path)
    while clock.watch.stall is None:
        clock.look(7, after_s=0.5, advances=False)
    assert clock.watch.stall.hang is Hang.DEADLOCKED
    assert 10.0 <= clock.now - clock.silent_since <= 11.0


def test_while_the_watch_itself_is_late_nobodys_silence_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock(monkeypatch, tmp_path)
    for _ in range(4):
        clock.look(7, after_s=4.0, advances=False)
    assert clock.watch.stall is None
    assert clock.watch.silence_s == pytest.approx(4.0)


def test_a_trainer_that_gets_no_processor_is_given_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock(monkeypatch, tmp_path)
    for look in range(50):
        threads = {1: ThreadTimes(0.05 * look, 0.45 * look), 2: ThreadTimes(0.0, 0.0)}
        clock.state = ProcessState(is_running=True, waits_for=None, cpu_s=0.1 * look, threads=threads)
        clock.look(7, after_s=0.5, advances=False)
    assert clock.watch.stall is None
    assert clock.watch.silence_s == pytest.approx(25.0 / 3)
    clock.look(8, after_s=0.5)
    assert clock.watch.limits.limit_s("training", has_stepped=True) > 60.0
