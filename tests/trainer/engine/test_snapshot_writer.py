"""A snapshot file holds what its format says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.children import tiny_task
from tests.trainer.engine.runs import events, snapshot, train_here
from trainer.engine.snapshot_writer import SnapshotWriter, dataset_name
from trainer.engine.task import ProbeAnswers
from trainer.protocol.events import SNAPSHOT_FORMAT
from trainer.protocol.run_folder import RunSpec
from trainer.telemetry.reporter import Reporter


def test_the_file_holds_every_field_and_words_for_what_is_no_number(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run")
    content = snapshot(paths, 0)
    assert content["format"] == SNAPSHOT_FORMAT
    assert (content["task"], content["dataset"], content["step"]) == ("classification", "rows", 0)
    assert content["model_version"] == "run@0"
    assert content["probe_set"] == content["probes"]["hash"]
    assert content["columns"]["score"] == ["NaN"] * tiny_task.NUM_PROBES
    summary = content["summary"]
    assert summary["mean_score"] == "NaN"
    assert summary["correct"] + summary["incorrect"] == summary["total_examples"] == tiny_task.NUM_PROBES
    assert summary["accuracy"] == pytest.approx(summary["correct"] / summary["total_examples"])
    assert summary["avg_loss"] == pytest.approx(sum(content["columns"]["loss"]) / tiny_task.NUM_PROBES)
    event = events(paths, "snapshot")[0]
    assert event["file"] == "step_000000.json.gz"
    assert event["summary"]["mean_score"] == "NaN"
    assert 0.0 < content["cost_s"] <= event["cost_s"]


def test_the_probe_set_keeps_its_hash_over_the_run(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run")
    assert snapshot(paths, 0)["probe_set"] == snapshot(paths, 13)["probe_set"]


def test_a_task_that_answers_too_little_is_told_where(tmp_path: Path) -> None:
    class Short(tiny_task.TinyTask):
        def probe(self) -> ProbeAnswers:
            answers = super().probe()
            return dataclasses.replace(answers, columns={**answers.columns, "rank": [1.0]})

    paths = tiny_task.create_run(tmp_path / "run")
    reporter = Reporter(paths, attempt=1)
    writer = SnapshotWriter(Short(seed=1), spec=RunSpec.load(paths), paths=paths, reporter=reporter)
    with pytest.raises(ValueError, match="answers 1 of its 6 probes in 'rank'"):
        writer.take(step=0, epoch=0.0)
    reporter.close()


def test_a_dataset_given_as_a_file_is_called_by_its_name() -> None:
    assert dataset_name("python_docs") == "python_docs"
    assert dataset_name("/home/me/questions.jsonl") == "questions"
