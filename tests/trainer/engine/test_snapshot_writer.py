"""A snapshot file holds what its format says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from app.services.ingest_snapshots import parse
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


class Placing(tiny_task.TinyTask):
    """Also says where it places its probes."""

    vectors_BD = np.arange(tiny_task.NUM_PROBES * 3, dtype=np.float32).reshape(-1, 3)

    def probe(self) -> ProbeAnswers:
        return dataclasses.replace(super().probe(), vectors_BD=self.vectors_BD)


def written(root: Path, task: tiny_task.TinyTask) -> bytes:
    """The bytes of a snapshot that is taken of ``task``."""
    paths = tiny_task.create_run(root)
    reporter = Reporter(paths, attempt=1)
    SnapshotWriter(task, spec=RunSpec.load(paths), paths=paths, reporter=reporter).take(step=0, epoch=0.0)
    reporter.close()
    return (paths.snapshots / "step_000000.json.gz").read_bytes()


def test_vectors_arrive_at_the_dashboard_as_half_floats(tmp_path: Path) -> None:
    record = parse(written(tmp_path / "run", Placing(seed=1)))
    assert record.vectors is not None
    assert record.vectors.dim == 3
    found = np.frombuffer(record.vectors.packed, "<f2").reshape(-1, 3)
    np.testing.assert_array_equal(found, Placing.vectors_BD)


def test_what_half_floats_cannot_hold_is_cut_at_their_end(tmp_path: Path) -> None:
    task = Placing(seed=1)
    task.vectors_BD = np.full((tiny_task.NUM_PROBES, 2), [1e9, -1e9], dtype=np.float32)
    record = parse(written(tmp_path / "run", task))
    assert record.vectors is not None
    assert np.frombuffer(record.vectors.packed, "<f2")[:2].tolist() == [65504.0, -65504.0]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_model_that_has_diverged_still_leaves_a_snapshot(tmp_path: Path, value: float) -> None:
    task = Placing(seed=1)
    task.vectors_BD = np.full((tiny_task.NUM_PROBES, 2), value, dtype=np.float32)
    record = parse(written(tmp_path / "run", task))
    assert record.vectors is None
    assert len(record.outputs) == tiny_task.NUM_PROBES


def test_too_few_vectors_are_told(tmp_path: Path) -> None:
    task = Placing(seed=1)
    task.vectors_BD = task.vectors_BD[:2]
    with pytest.raises(ValueError, match="answers 2 of its 6 probes in 'vectors'"):
        written(tmp_path / "run", task)
