"""The callback in Lightning's style: its hooks one by one, and a real training with the library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.services.ingest_snapshots import parse
from tests.trainer.supervisor.supervised import end_all, new_run
from tests.trainer.telemetry.integrations.reported import (
    steps_of,
    stopped_after_two_evaluations,
    told,
)
from trainer.telemetry.integrations.lightning import SignalboxCallback
from trainer.telemetry.run_words import Run


class Heard(Run):
    """A run that remembers what was said."""

    def __init__(self) -> None:
        super().__init__()
        self.logged: list[tuple[int | None, dict[str, Any]]] = []
        self.phases: list[str] = []
        self.snapshots: list[int] = []
        self.steps: list[tuple[int, int | None]] = []
        self.wants_stop = False

    def log(self, values: Any, step: int | None = None, **more: Any) -> None:
        self.logged.append((step, dict(values)))

    def phase(self, name: str, **more: Any) -> None:
        self.phases.append(name)

    def progress(self, step: int, total_steps: int | None = None, **more: Any) -> None:
        self.steps.append((step, total_steps))

    def snapshot(self, step: int, examples: Any, **more: Any) -> None:
        self.snapshots.append(step)

    def should_stop(self) -> bool:
        return self.wants_stop


def new_trainer(**more: Any) -> SimpleNamespace:
    facts: dict[str, Any] = {
        "is_global_zero": True, "global_step": 0, "current_epoch": 0, "max_epochs": 2, "max_steps": -1,
        "estimated_stepping_batches": 4, "callback_metrics": {}, "sanity_checking": False,
        "should_stop": False,
    }  # fmt: skip
    return SimpleNamespace(**{**facts, **more})


def fit(callback: SignalboxCallback, trainer: SimpleNamespace) -> None:
    """Two epochs of two steps, two batches to each step, as the library calls its hooks."""
    module = SimpleNamespace(device="cpu")
    trainer.sanity_checking = True
    callback.on_validation_end(trainer, module)
    trainer.sanity_checking = False
    callback.on_train_start(trainer, module)
    for epoch in range(2):
        trainer.current_epoch = epoch
        for batch in range(4):
            trainer.global_step += batch % 2
            trainer.callback_metrics["train_acc"] = 0.25
            callback.on_train_batch_end(trainer, module, {"loss": 1.0 / (batch + 1)}, None, batch)
        callback.on_validation_batch_end(trainer, module, None, None, 0)
        trainer.callback_metrics["val_loss"] = 0.5 - epoch / 10
        callback.on_validation_end(trainer, module)
    callback.on_train_end(trainer, module)


def test_steps_evaluations_phases_and_snapshots_are_reported() -> None:
    run = Heard()
    probes = [{"input": "1", "expected_output": "2"}]
    fit(
        SignalboxCallback(run=run, probes=probes, answer=lambda model, probes: [{"output": "2"}]),
        new_trainer(),
    )
    training = [step for step, values in run.logged if "train/loss" in values]
    assert training == [0, 1, 2, 3, 4]
    assert [values for _, values in run.logged if "eval/loss" in values] == [
        {"eval/loss": 0.5},
        {"eval/loss": 0.4},
    ]
    assert run.steps[-1] == (4, 4)
    assert set(run.phases) == {"training", "evaluating", "snapshotting"}
    assert run.snapshots == [0, 4]


def test_a_wish_to_stop_is_passed_on() -> None:
    run, trainer = Heard(), new_trainer()
    run.wants_stop = True
    fit(SignalboxCallback(run=run), trainer)
    assert trainer.should_stop


def test_other_processes_say_nothing() -> None:
    run = Heard()
    fit(SignalboxCallback(run=run), new_trainer(is_global_zero=False))
    assert (run.logged, run.phases, run.steps) == ([], [], [])


def test_an_answer_that_raises_costs_the_snapshot_only() -> None:
    run = Heard()
    told: list[str] = []
    run.alert = lambda title, text="", level="info": told.append(text)  # type: ignore[method-assign]

    def broken(model: Any, probes: Any) -> Any:
        raise RuntimeError("no such layer")

    fit(SignalboxCallback(run=run, probes=[{"input": "1"}], answer=broken), new_trainer())
    assert run.snapshots == []
    assert told == ["answer(model, probes) raised RuntimeError: no such layer"], "told once"
    assert run.steps[-1] == (4, 4)


def test_a_pace_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        SignalboxCallback(log_every=0)


@pytest.fixture
def _no_supervisor_is_left() -> Iterator[None]:
    yield
    end_all()


@pytest.mark.process
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("_no_supervisor_is_left")
def test_the_library_trains_reports_and_answers_once_more_when_it_is_stopped(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    record, output = stopped_after_two_evaluations(paths, "lightning_script.py")
    assert (record.state, record.exit_code) == ("stopped", 0), output
    assert steps_of(paths, "train/loss")[:3] == [1, 2, 3]
    assert steps_of(paths, "eval/loss")[:2] == [16, 32]
    assert {event["name"] for event in told(paths, "phase")} >= {"training", "evaluating", "snapshotting"}
    snapshots = told(paths, "snapshot")
    assert [event["step"] for event in snapshots][:3] == [0, 10, 25]
    assert snapshots[-1]["step"] == record.step, "the stop asks the model once more"
    files = [paths.snapshots / event["file"] for event in snapshots]
    losses = [parse(file.read_bytes()).summary["avg_loss"] for file in files]
    assert losses[-1] < losses[0]
    assert told(paths, "alert") == []
