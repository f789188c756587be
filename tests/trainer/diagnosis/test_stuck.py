"""A dump of stacks tells where a trainer hung, and only then when it was ended for it."""

from __future__ import annotations

import pytest

from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence

STEPS = "".join(f"step {n}/900 loss {2 - n / 900:.3f}\n" for n in range(0, 500, 100))
LOADER = """Timeout (0:00:02)!
Thread 0x00007fa723bff6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait
  File "/usr/lib/python3.11/multiprocessing/queues.py", line 231 in _feed

Thread 0x00007fa74221cb80 (most recent call first):
  File "/usr/lib/python3.11/selectors.py", line 415 in select
  File "/usr/lib/python3.11/multiprocessing/connection.py", line 947 in wait
  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 1291 in _try_get_data
  File "/home/u/train.py", line 7 in <module>
"""
GENERATE = """Current thread 0x00007f0000000001 (most recent call first):
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 125 in forward
  File "/opt/venv/lib/python3.11/site-packages/transformers/generation/utils.py", line 2526 in _sample
  File "/home/u/evaluate.py", line 30 in answers
"""
FAISS = """Current thread 0x00007f0000000001 (most recent call first):
  File "/opt/venv/lib/python3.11/site-packages/faiss/class_wrappers.py", line 329 in replacement_search
  File "/home/u/mine.py", line 12 in mine
"""
OPENMP = """Thread 7 (idle): "MainThread"
    gomp_team_barrier_wait_end (libgomp.so.1.0.0)
    replacement_search (faiss/class_wrappers.py:329)
    mine (mine.py:12)
"""
PY_SPY = """Thread 4012 (idle): "MainThread"
    all_reduce (/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:2501)
    main (train.py:88)
Thread 4020 (idle): "QueueFeederThread"
    wait (threading.py:327)
"""


def ids(**known: object) -> list[str]:
    return [finding.id for finding in diagnose(Evidence(**known))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stacks", "name"),
    [
        (LOADER, "hang_dataloader"),
        (GENERATE, "hang_generate"),
        (FAISS, "hang_openmp"),
        (OPENMP, "faiss_fork_hang"),
        (PY_SPY, "hang_collective"),
    ],
)
@pytest.mark.parametrize("signal", [None, 9, 15])
def test_the_main_threads_frames_name_the_place(stacks: str, name: str, signal: int | None) -> None:
    (finding,) = diagnose(Evidence(log=STEPS, stacks=stacks, signal=signal))
    assert finding.id == name
    assert finding.remedy


def test_the_frame_that_matters_stands_first() -> None:
    (finding,) = diagnose(Evidence(stacks=LOADER, signal=9))
    assert "dataloader.py" in finding.lines[0]
    assert finding.rungs == ("workers",)


def test_a_cause_in_the_log_comes_before_the_place_it_hung_at() -> None:
    log = STEPS + "OSError: [Errno 28] No space left on device\n"
    assert ids(log=log, stacks=LOADER, signal=9)[0] == "disk_full"


def test_a_dump_in_a_log_counts_only_where_it_waits_and_nothing_came_after() -> None:
    assert ids(log=STEPS + LOADER) == ["hang_dataloader"]
    assert ids(log=LOADER + STEPS) == []
    assert ids(log=STEPS + FAISS) == []


def test_what_crashed_or_ended_well_did_not_hang() -> None:
    assert ids(log=STEPS, stacks=LOADER, exit_code=0) == []
    assert "hang_dataloader" not in ids(log="Fatal Python error: Segmentation fault\n\n" + LOADER, signal=11)
