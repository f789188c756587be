import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainer.engine.runs import events
from tests.trainer.tasks import small_runs
from tests.trainer.tasks.small_runs import finished, losses
from tests.trainer.tasks.two_tower.small_material import silent, text_pairs, vector_pairs
from tests.trainer.warm import launch_engine
from tests.waiting import wait_for
from trainer.datasets.records import DatasetError
from trainer.protocol.run_folder import RunPaths
from trainer.tasks.two_tower.train import read_dataset

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[4]

SMALL: dict[str, Any] = {
    "batch_size": 16, "dim": 16, "hidden_dim": 16, "num_buckets": 1024, "num_probes": 5, "num_epochs": 4,
    "device": "cpu", "held_out_fraction": 0.2, "warmup_steps": 5,
}  # fmt: skip


def prepared(folder: Path, dataset: Path, **params: Any) -> RunPaths:
    return small_runs.prepared("two_tower", folder, dataset, **{**SMALL, **params})


@pytest.fixture
def pairs_file(tmp_path: Path) -> Path:
    path, pairs = tmp_path / "functions.jsonl", text_pairs()
    rows = zip(pairs.ids, pairs.queries, pairs.documents, pairs.groups, strict=True)
    lines = [json.dumps({"id": i, "query": q, "document": d, "group": g}) for i, q, d, g in rows]
    path.write_text("\n".join(lines))
    return path


def test_a_run_reports_its_dataset_losses_measures_and_snapshots(tmp_path: Path, pairs_file: Path) -> None:
    found = finished(prepared(tmp_path / "run", pairs_file))
    dataset = next(event for event in found if event["type"] == "dataset")
    assert dataset["name"] == "functions"
    assert dataset["counts"]["train"] + dataset["counts"]["held_out"] == dataset["counts"]["pairs"] == 200
    evaluations = [e["values"] for e in found if e["type"] == "metrics" and "eval/mrr@10" in e["values"]]
    assert len(evaluations) == SMALL["num_epochs"]
    assert next(event["step"] for event in found if event["type"] == "snapshot") == 0
    assert found[-1]["type"] == "finished"
    assert found[-1]["reason"] == "completed"
    assert found[-1]["metrics"]["best"]["eval/mrr@10"] == max(e["eval/mrr@10"] for e in evaluations)


def test_a_healthy_log_tells_the_training_and_nothing_of_its_libraries(
    tmp_path: Path, pairs_file: Path
) -> None:
    paths = prepared(tmp_path / "run", pairs_file, num_epochs=1)
    command = [sys.executable, "-u", "-m", "trainer.engine", str(paths.root), "--attempt", "1"]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=100, check=True).stdout
    assert "training on cpu" in told
    assert "completed" in told
    assert "Error" not in told
    assert "faiss" not in told


def test_vectors_train_too(tmp_path: Path) -> None:
    path, pairs = tmp_path / "v.npz", vector_pairs()
    np.savez(path, query_vectors=pairs.query_vectors, document_vectors=pairs.document_vectors)
    found = finished(prepared(tmp_path / "run", path, document_tower="identity", dim=8, max_steps=6))
    assert max(losses(found)) == 6


def test_a_run_gives_the_same_numbers_wherever_it_searches_and_its_own_home_keeps_faiss_out(
    tmp_path: Path, pairs_file: Path
) -> None:
    numbers: list[list[dict[str, float]]] = []
    pictures: list[dict[int, Any]] = []
    loaded: list[dict[str, Any]] = []
    for home in ("own", "shared"):
        params = {"mined_negatives": 2, "mine_from_epoch": 0, "mine_depth": 10, "num_epochs": 2}
        paths = prepared(tmp_path / home, pairs_file, search_process=home, **params)
        command = [sys.executable, "-m", "tests.children.trained_run", str(paths.root)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False
        )
        assert done.returncode == 0, done.stderr
        loaded.append(json.loads(done.stdout.splitlines()[-1]))
        found = events(paths)
        numbers.append([e["values"] | {"step": e["step"]} for e in found if e["type"] == "metrics"])
        pictures.append({e["step"]: e["summary"] for e in found if e["type"] == "snapshot"})
    assert loaded[0] == {"module": False, "libraries": []}
    assert loaded[1]["module"]
    for values in numbers[0] + numbers[1]:
        for name in ("train/examples_per_s", "eval/index_p50_ms", "eval/index_p95_ms"):
            values.pop(name, None)
    assert numbers[0] == numbers[1]
    assert any("eval/mrr@10" in values for values in numbers[0])
    both = pictures[0].keys() & pictures[1].keys()  # a slow machine leaves some of them out
    assert len(both) >= 2
    assert all(pictures[0][step] == pictures[1][step] for step in both)


RESUMED: dict[str, dict[str, Any]] = {
    "text": {"dropout": 0.2, "mined_negatives": 2, "mine_depth": 10, "group_negatives": 1},
    "bank and curriculum": {
        "memory_bank": 37,
        "memory_bank_from_epoch": 1,
        "margin": 0.2,
        "curriculum": "0:none;1-3:2@-0.5-0.95;4-:1",
        "mined_share": 0.5,
        "mine_depth": 10,
        "num_epochs": 6,
        "checkpoint_every": 3,
    },
    "encoder": {
        "model": "scratch",
        "num_heads": 2,
        "max_length": 16,
        "vocab_size": 400,
        "micro_batch_size": 6,
        "num_epochs": 5,
    },
    "vectors in parts, with a bank": {
        "dropout": 0.3,
        "num_layers": 2,
        "micro_batch_size": 5,
        "memory_bank": 500,
        "memory_bank_from_epoch": 0,
        "search_process": "own",
    },
}


@pytest.mark.parametrize("kind", list(RESUMED))
def test_a_killed_run_goes_on_with_the_very_same_losses(tmp_path: Path, pairs_file: Path, kind: str) -> None:
    params = {"checkpoint_every": 4, "num_epochs": 8, **RESUMED[kind]}
    if kind.startswith("vectors"):
        pairs_file, pairs = tmp_path / "v.npz", vector_pairs(num_rows=200)
        np.savez(pairs_file, query_vectors=pairs.query_vectors, document_vectors=pairs.document_vectors)
    expected = losses(finished(prepared(tmp_path / "whole", pairs_file, **params)))
    paths = prepared(tmp_path / "killed", pairs_file, **params)
    process = launch_engine(paths.root)

    def is_under_way() -> bool:
        assert process.poll() is None, "it ended before it could be killed"
        return (
            bool(list(paths.checkpoints.glob("step_*.json"))) and max(losses(events(paths)), default=0) > 20
        )

    wait_for(is_under_way, what="step 21 and a checkpoint")
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    reached = max(losses(events(paths)))
    found = finished(paths, attempt=2)
    again = [e["step"] for e in found if e["type"] == "metrics" and e["attempt"] == 2]
    assert min(again) <= reached + 1
    assert losses(found) == expected
    second_attempt = {
        e["step"]: e["values"]["train/loss"]
        for e in found
        if e["attempt"] == 2 and e["type"] == "metrics" and "train/loss" in e["values"]
    }
    assert all(expected[step] == loss for step, loss in second_attempt.items())
    assert min(second_attempt) > 4, "it started again from the beginning"


def test_a_run_whose_loss_is_no_number_leaves_with_an_error_and_never_with_code_0(tmp_path: Path) -> None:
    path, pairs = tmp_path / "v.npz", vector_pairs()
    huge = (pairs.query_vectors * 5e37, pairs.document_vectors)
    np.savez(path, query_vectors=huge[0], document_vectors=huge[1])
    paths = prepared(tmp_path / "run", path, query_tower="mlp", document_tower="mlp", dim=8)
    process = launch_engine(paths.root)
    errors = process.output()
    assert process.returncode == 1
    assert "NonFiniteLoss" in errors
    assert not any(event["type"] == "finished" for event in events(paths))


def test_a_malformed_dataset_ends_the_run_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("query,document\na,b\n,d\n")
    process = launch_engine(prepared(tmp_path / "run", path).root)
    errors = process.output()
    assert process.returncode == 1
    assert "line 3, column query: is empty" in errors


@pytest.mark.parametrize("name", ["nothing", "file.txt", "/nowhere/file.parquet"])
def test_an_unknown_dataset_is_refused_with_what_there_is(name: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"python_docs\) nor a file ending in \.jsonl"):
        read_dataset(name, datasets_dir=tmp_path, tell=silent)
