"""A real Hugging Face Trainer on a tiny model, supervised: read from its output, and by the callback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.services.ingest_snapshots import parse
from tests.trainer.supervisor.supervised import end_all, finish, new_run
from tests.trainer.telemetry.integrations.reported import (
    start,
    steps_of,
    stopped_after_two_evaluations,
    told,
)
from trainer.telemetry.integrations.huggingface import SignalboxCallback

SCRIPT = "huggingface_script.py"


@pytest.fixture(autouse=True)
def _no_supervisor_is_left() -> Iterator[None]:
    yield
    end_all()


@pytest.mark.process
@pytest.mark.timeout(300)
def test_what_an_unchanged_script_prints_is_read_with_the_right_steps(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    record = finish(start(paths, SCRIPT, "plain"), paths, timeout_s=240)
    output = paths.output(1).read_text()
    assert record.state == "finished", output
    assert steps_of(paths, "train/loss") == [5, 10, 15, 20], output
    assert steps_of(paths, "eval/loss") == [10, 20], output
    assert steps_of(paths, "final/loss") == [20]
    assert told(paths, "progress")[-1]["total_steps"] == 20
    assert record.step == 20


@pytest.mark.process
@pytest.mark.timeout(300)
def test_the_callback_reports_obeys_announces_and_asks(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    record, output = stopped_after_two_evaluations(paths, SCRIPT, "callback")
    assert (record.state, record.exit_code) == ("stopped", 0), output
    assert steps_of(paths, "train/loss")[:3] == [1, 5, 10]
    assert len(steps_of(paths, "train/loss")) == len(set(steps_of(paths, "train/loss")))
    assert {"loading", "training", "evaluating", "snapshotting"} >= {
        event["name"] for event in told(paths, "phase")
    } > {"training", "snapshotting"}  # fmt: skip
    checkpoints = [event["step"] for event in told(paths, "checkpoint")]
    assert checkpoints[:2] == [10, 20]
    assert checkpoints[-1] == record.step, "the stop saves a last one"
    assert (paths.root / "out" / f"checkpoint-{record.step}").is_dir()
    snapshots = told(paths, "snapshot")
    assert [event["step"] for event in snapshots][:2] == [0, 10]
    assert snapshots[-1]["step"] == record.step
    files = [paths.snapshots / event["file"] for event in snapshots]
    losses = [parse(file.read_bytes()).summary["avg_loss"] for file in files]
    assert losses[-1] < losses[0]
    assert told(paths, "alert") == []


def test_probes_without_an_answer_are_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match="both"):
        SignalboxCallback(probes=[{"input": "1", "expected_output": "2"}])


def test_events_of_later_versions_are_taken_and_nothing_else() -> None:
    callback = SignalboxCallback()
    callback.on_something_new(None, None, None, model=None)
    assert not hasattr(callback, "something_else")
