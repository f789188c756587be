"""The reporter writes whole, numbered lines, goes on after crashes, and never harms the training."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainer.protocol.events import Phase, Stream, check_event, decode_number
from trainer.protocol.run_folder import SEGMENT_BYTES, Heartbeat, RunPaths, segments
from trainer.telemetry import spool_writer
from trainer.telemetry.reporter import Reporter

ROOT = Path(__file__).resolve().parents[3]


def lines(paths: RunPaths) -> list[dict[str, Any]]:
    content = b"".join(segment.read_bytes() for segment in segments(paths.spool(Stream.TRAINER)))
    return [check_event(json.loads(line)) for line in content.splitlines()]


def test_an_event_is_in_the_file_when_the_call_returns(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    reporter = Reporter(paths, attempt=3)
    reporter.metrics(5, {"train/loss": 1.25, "train/grad_norm": 0.5})
    (event,) = lines(paths)
    assert event == {
        "seq": 1,
        "t": pytest.approx(time.time(), abs=60),
        "type": "metrics",
        "attempt": 3,
        "step": 5,
        "values": {"train/loss": 1.25, "train/grad_norm": 0.5},
    }
    reporter.close()


def test_numbers_survive_whatever_they_are(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    reporter = Reporter(paths, attempt=1)
    given: dict[str, Any] = {
        "nan": math.nan,
        "up": math.inf,
        "down": -math.inf,
        "int": 3,
        "yes": True,
        "numpy": np.float32(0.5),
        "null in its name": 1e-300,
        "tiny": 5e-324,
    }
    reporter.metrics(1, given)
    reporter.metrics(2, {"text": "no number", "none": None})  # type: ignore[dict-item]
    reporter.close()
    first, second = (
        {name: decode_number(value) for name, value in event["values"].items()} for event in lines(paths)
    )
    assert math.isnan(first.pop("nan"))
    assert first == {name: float(value) for name, value in given.items() if name != "nan"}
    assert all(math.isnan(value) for value in second.values())


def test_a_call_that_makes_no_sense_is_counted_and_not_raised(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    reporter = Reporter(paths, attempt=1)
    reporter.metrics("five", {"train/loss": 1.0})  # type: ignore[arg-type]
    reporter.metrics(6, {"train/\ud800": 1.0})
    reporter.metrics(7, {"train/loss": 1.0})
    reporter.close()
    events = lines(paths)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert 7 in [event["step"] for event in events if event["type"] == "metrics"]
    heartbeat = Heartbeat.load(paths.heartbeat)
    assert heartbeat is not None
    assert heartbeat.lost_events >= 1


def test_every_kind_of_event_is_well_formed(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    reporter = Reporter(paths, attempt=1)
    reporter.progress(1, total_steps=10, epoch=0.5, num_epochs=2)
    reporter.phase(Phase.EVALUATING, step=1, detail="searching", fraction=0.0)
    reporter.snapshot(1, "step_000001.json.gz", {"avg_loss": math.nan}, 0.2)
    reporter.snapshot_skipped(2, "too dear")
    reporter.checkpoint(
        2,
        file="step_000002.pt",
        num_bytes=10,
        sha256="00",
        metrics={"x": math.inf},
        best=True,
        reason="asked",
    )
    reporter.alert("warning", "Title", "text")
    reporter.dataset("rows", content_hash="00", counts={"train": 3})
    reporter.finished(2, reason="completed", metrics={"last": {"x": math.nan}, "best": {}})
    reporter.close()
    events = lines(paths)
    assert [event["type"] for event in events] == [
        "progress", "phase", "snapshot", "snapshot_skipped", "checkpoint", "alert", "dataset", "finished",
    ]  # fmt: skip
    assert events[1]["fraction"] == 0.0
    assert events[2]["summary"] == {"avg_loss": "NaN"}
    assert events[4]["bytes"] == 10
    assert events[7]["metrics"]["last"] == {"x": "NaN"}


def test_progress_is_not_written_more_often_than_people_can_see(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    reporter = Reporter(paths, attempt=1)
    started = time.monotonic()
    for step in range(1, 2001):
        reporter.progress(step, total_steps=2000, epoch=0.0, num_epochs=1)
    seconds = time.monotonic() - started
    reporter.close()
    steps = [event["step"] for event in lines(paths)]
    assert (steps[0], steps[-1]) == (1, 2000)
    assert len(steps) <= 2 + seconds / 0.1


@pytest.mark.parametrize(
    "torn",
    [
        b'{"seq":3,"t":1.0,"type":"metr',
        b'{"seq":3,"t":1.0,"type":"metrics"',
        b"\0" * 500,
        b'{"seq":3,"t":1.0,"type":"nonsense"}\n',
        b"\xff\xfe\n\n",
    ],
)
def test_numbering_goes_on_after_the_last_whole_line_and_a_torn_tail_is_cut(
    tmp_path: Path, torn: bytes
) -> None:
    paths = RunPaths(tmp_path)
    first = Reporter(paths, attempt=1)
    first.metrics(1, {"a": 1.0})
    first.metrics(2, {"a": 2.0})
    first.close()
    with segments(paths.spool(Stream.TRAINER))[-1].open("ab") as file:
        file.write(torn)
    second = Reporter(paths, attempt=2)
    second.metrics(2, {"a": 3.0})
    second.close()
    assert [(event["seq"], event["attempt"], event["step"]) for event in lines(paths)] == [
        (1, 1, 1),
        (2, 1, 2),
        (3, 2, 2),
    ]


def test_segments_roll_between_lines_and_the_numbers_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_writer, "SEGMENT_BYTES", 1000)
    paths = RunPaths(tmp_path)
    for attempt in (1, 2):
        reporter = Reporter(paths, attempt=attempt)
        for step in range(25):
            reporter.metrics(step, {"a": 1.0 / (step + 3)})
        reporter.close()
    files = segments(paths.spool(Stream.TRAINER))
    assert [file.name for file in files[:2]] == ["000001.jsonl", "000002.jsonl"]
    assert all(file.stat().st_size <= 1000 for file in files)
    assert [event["seq"] for event in lines(paths)] == list(range(1, 51))
    assert SEGMENT_BYTES == 8 * 1024 * 1024


def test_a_torn_line_at_the_start_of_a_segment_does_not_restart_the_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_writer, "SEGMENT_BYTES", 300)
    paths = RunPaths(tmp_path)
    first = Reporter(paths, attempt=1)
    for step in range(5):
        first.metrics(step, {"a": 1.0})
    first.close()
    newest = segments(paths.spool(Stream.TRAINER))[-1]
    torn = newest.with_name(f"{int(newest.stem) + 1:06d}.jsonl")
    torn.write_bytes(b'{"seq":6,')
    second = Reporter(paths, attempt=2)
    second.metrics(5, {"a": 1.0})
    second.close()
    assert [event["seq"] for event in lines(paths)] == [1, 2, 3, 4, 5, 6]
    assert json.loads(torn.read_bytes())["seq"] == 6


def test_threads_never_mix_lines_or_numbers(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    reporter = Reporter(paths, attempt=1)

    def report() -> None:
        for step in range(500):
            reporter.metrics(step, {"a": 1.0})

    threads = [threading.Thread(target=report) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reporter.close()
    assert [event["seq"] for event in lines(paths)] == list(range(1, 2001))


def test_a_run_folder_that_takes_no_writes_costs_reports_and_nothing_else(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    folder = paths.spool(Stream.TRAINER)
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")  # a file where the folder should be: every open fails
    reporter = Reporter(paths, attempt=1)
    for step in range(3):
        reporter.metrics(step, {"a": 1.0})
    folder.unlink()  # space again
    reporter.metrics(3, {"a": 1.0})
    reporter.metrics(4, {"a": 1.0})
    reporter.close()
    events = lines(paths)
    assert [(event["seq"], event["type"]) for event in events] == [
        (1, "metrics"), (2, "alert"), (3, "metrics"),
    ]  # fmt: skip
    assert events[1]["text"].startswith("3 events could not be written")
    heartbeat = Heartbeat.load(paths.heartbeat)
    assert heartbeat is not None
    assert heartbeat.lost_events == 3


FULL_DISK = """
import os, resource, signal, sys
from pathlib import Path
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.reporter import Reporter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
reporter = Reporter(RunPaths(Path(sys.argv[1])), attempt=1)
for step in range(1, 101):
    reporter.metrics(step, {"a": 1.0})
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
reporter.metrics(101, {"a": 1.0})
reporter.close()
"""


@pytest.mark.process
def test_a_line_the_disk_cut_short_is_taken_back(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], cwd=ROOT, check=True, timeout=60)
    events = lines(RunPaths(tmp_path))
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    steps = [event["step"] for event in events if event["type"] == "metrics"]
    assert steps == [*range(1, len(steps)), 101]
    assert len(steps) < 60
    assert events[-1]["text"].startswith(f"{101 - len(steps)} events could not be written")


KILLED = """
import sys
from pathlib import Path
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.reporter import Reporter
reporter = Reporter(RunPaths(Path(sys.argv[1])), attempt=1)
step = 0
while True:
    step += 1
    reporter.metrics(step, {"a": 1.0})
    if step % 100 == 0:
        sys.stdout.write(f"{step}\\n")
        sys.stdout.flush()
"""


@pytest.mark.process
def test_what_was_reported_survives_a_kill(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    acknowledged = [process.stdout.readline() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    acknowledged += process.stdout.readlines()
    process.wait(timeout=30)
    process.stdout.close()
    last = max(int(line) for line in acknowledged if line.endswith(b"\n"))
    content = segments(RunPaths(tmp_path).spool(Stream.TRAINER))[0].read_bytes()
    steps = [json.loads(line)["step"] for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) >= last


FORKED = """
import os, sys
from pathlib import Path
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.reporter import Reporter
reporter = Reporter(RunPaths(Path(sys.argv[1])), attempt=1)
reporter.metrics(1, {"a": 1.0})
child = os.fork()
if child == 0:
    reporter.metrics(2, {"from": 2.0})
    os._exit(0)
os.waitpid(child, 0)
reporter.metrics(3, {"a": 1.0})
reporter.close()
"""


@pytest.mark.process
def test_a_forked_child_stays_silent(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKED, str(tmp_path)], cwd=ROOT, check=True, timeout=60)
    assert [(event["seq"], event["step"]) for event in lines(RunPaths(tmp_path))] == [(1, 1), (2, 3)]


def test_the_heart_beats_while_the_training_does_not_advance(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    reporter = Reporter(paths, attempt=2)
    reporter.phase(Phase.TRAINING, step=4)
    reporter.metrics(5, {"a": 1.0})

    def beat() -> Heartbeat:
        found = Heartbeat.load(paths.heartbeat)
        assert found is not None
        return found

    deadline = time.monotonic() + 30
    while beat().step != 5 and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    first = beat()
    while beat().beat_at == first.beat_at and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    second = beat()
    assert (second.pid, second.attempt, second.phase, second.step) == (os.getpid(), 2, "training", 5)
    assert second.progress_at == first.progress_at < first.beat_at < second.beat_at
    reporter.close()
