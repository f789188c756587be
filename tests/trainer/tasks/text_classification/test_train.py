"""Whole runs in their own process: what they report, leave behind, and how they go on after a kill."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from tests.trainer.engine.runs import events
from tests.trainer.tasks import small_runs
from tests.trainer.tasks.small_runs import finished, losses
from tests.trainer.tasks.text_classification.small_texts import SMALL, silent, write_texts
from tests.trainer.warm import launch_engine
from tests.waiting import wait_for
from trainer.engine.manifests import manifests
from trainer.protocol import evaluation_files
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.tasks.text_classification.answerer import open_answerer

pytestmark = pytest.mark.process


def prepared(folder: Path, dataset: Path, **params: Any) -> RunPaths:
    return small_runs.prepared("text_classification", folder, dataset, **{**SMALL, **params})


def test_a_run_learns_explains_itself_and_leaves_a_model_that_others_can_load(tmp_path: Path) -> None:
    paths = prepared(tmp_path / "run", write_texts(tmp_path / "things.csv"))
    found = finished(paths)
    dataset = next(event for event in found if event["type"] == "dataset")
    assert dataset["counts"]["labels"] == 3
    assert dataset["counts"]["train"] + dataset["counts"]["held_out"] == dataset["counts"]["texts"] == 240
    evaluations = [e["values"] for e in found if e["type"] == "metrics" and "eval/macro_f1" in e["values"]]
    assert len(evaluations) == SMALL["num_epochs"]
    assert evaluations[-1]["eval/accuracy"] > 0.9 > 0.4 > evaluations[-1]["eval/chance_accuracy"]
    assert next(event["step"] for event in found if event["type"] == "snapshot") == 0
    assert found[-1]["type"] == "finished"
    steps = evaluation_files.steps(paths)
    assert len(steps) == SMALL["num_epochs"]
    details = evaluation_files.load(paths, steps[-1])
    assert details is not None
    assert details["accuracy"] == evaluations[-1]["eval/accuracy"]
    _check_export(paths)


def _check_export(paths: RunPaths) -> None:
    """The exported folder answers as the best checkpoint does, and knows its labels."""
    model = AutoModelForSequenceClassification.from_pretrained(paths.export).eval()
    tokenizer = AutoTokenizer.from_pretrained(paths.export)
    about = json.loads((paths.export / "signalbox.json").read_text())
    best = next(one for one in manifests(paths) if one.step == about["step"])
    answerer = open_answerer(RunSpec.load(paths), paths, paths.checkpoints / best.file, silent)
    text = "some rain and a storm today"
    answer = answerer.answer({"text": text})
    with torch.no_grad():
        probabilities = model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0]
    assert answer["label"] == "weather" == model.config.id2label[int(probabilities.argmax())]
    assert answer["labels"][0]["probability"] == pytest.approx(probabilities.max().item(), abs=1e-4)
    assert sum(one["probability"] for one in answer["labels"]) == pytest.approx(1.0)
    assert not answer["is_cut"]
    assert answerer.answer({"text": "rain " * 200})["is_cut"]


def test_a_killed_run_goes_on_with_the_very_same_losses(tmp_path: Path) -> None:
    dataset = write_texts(tmp_path / "things.csv")
    params = {"checkpoint_every": 4, "num_epochs": 6, "dropout": 0.2, "micro_batch_size": 6}
    whole = losses(finished(prepared(tmp_path / "whole", dataset, **params)))
    paths = prepared(tmp_path / "killed", dataset, **params)
    process = launch_engine(paths.root)
    try:
        wait_for(lambda: max(losses(events(paths)), default=0) >= 30, what="step 30", timeout_s=60)
    finally:
        process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = evaluation_files.steps(paths)
    again = losses(finished(paths, attempt=2))
    assert again == whole
    assert set(before) <= set(evaluation_files.steps(paths)) == set(range(12, 73, 12))


def test_a_trained_model_in_a_folder_is_trained_further_with_lora(tmp_path: Path) -> None:
    first = prepared(tmp_path / "first", write_texts(tmp_path / "things.csv"), num_epochs=1)
    finished(first)
    changes = {"model": str(first.export), "lora_rank": 4, "lora_targets": "Wqkv,Wo", "max_steps": 6}
    paths = prepared(tmp_path / "second", write_texts(tmp_path / "others.csv", seed=1), **changes)
    found = finished(paths)
    assert max(losses(found)) == 6
    assert (paths.export / "model.safetensors").exists()
    assert not (paths.export / "adapter_config.json").exists()  # it is part of the weights
    last = manifests(paths)[-1]
    answerer = open_answerer(RunSpec.load(paths), paths, paths.checkpoints / last.file, silent)
    answer = answerer.answer({"text": "rain"})
    assert {one["label"] for one in answer["labels"]} == {"weather", "kitchen", "garden"}


def test_a_text_longer_than_the_model_is_told_before_anything_starts(tmp_path: Path) -> None:
    first = prepared(tmp_path / "first", write_texts(tmp_path / "things.csv"), max_steps=1)
    finished(first)
    paths = prepared(tmp_path / "second", tmp_path / "things.csv", model=str(first.export), max_length=64)
    process = launch_engine(paths.root)
    errors = process.output()
    assert process.returncode == 1
    assert "max_length is 64 and the model reads at most 24 tokens; lower max_length to 24" in errors
