"""Verdicts and limits, from every combination that matters, without a process."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from trainer.protocol.run_folder import Heartbeat
from trainer.supervisor.hangs import Evidence, Hang, Wait, in_words, verdict
from trainer.supervisor.limits import Limits
from trainer.supervisor.process_state import wait_of
from trainer.supervisor.stacks import place, threads

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


def beat(
    progress_at: float, *, step: int, phase: str = "training", beat_at: float | None = None
) -> Heartbeat:
    return Heartbeat(1, 1, phase, step, progress_at, progress_at if beat_at is None else beat_at, 0.0)


def test_a_run_that_has_shown_nothing_gets_the_floors() -> None:
    limits = Limits({})
    assert limits.limit_s("training", has_stepped=True) == 60.0
    assert limits.limit_s("training", has_stepped=False) == 600.0
    assert limits.limit_s("loading", has_stepped=False) == 600.0
    for phase in ("evaluating", "mining", "snapshotting", "saving", "a phase of another version"):
        assert limits.limit_s(phase, has_stepped=True) >= 120.0


def test_a_slow_run_gets_ten_times_its_longest_step() -> None:
    limits = Limits({})
    for step, at in enumerate((0.0, 9.0, 29.0, 36.0)):
        limits.learn(beat(at, step=step))
    assert limits.limit_s("training", has_stepped=True) == 200.0


def test_many_steps_between_two_beats_are_not_taken_for_one_long_one() -> None:
    limits = Limits({})
    for second in range(10):
        limits.learn(beat(float(second), step=100 * second))
    assert limits.longest_s("training") == pytest.approx(0.01)


def test_the_silence_of_a_phase_is_learnt_also_when_only_beats_were_seen_of_it() -> None:
    limits = Limits({})
    limits.learn(beat(0.0, step=5, phase="saving"))
    limits.learn(beat(0.0, step=5, phase="saving", beat_at=90.0))
    limits.learn(beat(91.0, step=6))
    assert limits.limit_s("saving", has_stepped=True) == 450.0
    assert limits.limit_s("training", has_stepped=True) == 60.0


def test_a_suspension_teaches_nothing() -> None:
    limits = Limits({})
    limits.learn(beat(0.0, step=1))
    limits.forget_last()
    limits.learn(beat(500.0, step=2))
    assert limits.limit_s("training", has_stepped=True) == 60.0


def test_a_policy_scales_every_limit() -> None:
    limits = Limits({"stall_after_s": 3})
    assert limits.limit_s("training", has_stepped=True) == 3.0
    assert limits.limit_s("saving", has_stepped=True) == 15.0
    assert limits.limit_s("loading", has_stepped=False) == 30.0
    assert limits.suspended_s == 3.0


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
    path.write_text(json.dumps(asdict(beat(1.0, step=1))))
    assert Heartbeat.load(path) == beat(1.0, step=1)
    path.write_text(json.dumps(asdict(beat(1.0, step=1)) | changes))
    assert Heartbeat.load(path) is None
