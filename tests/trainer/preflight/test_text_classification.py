"""The text classification recipe on files of every kind, and its parameters against them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.preflight.questions import one, verdicts, write
from tests.trainer.tasks.text_classification.small_texts import SMALL, write_texts
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight import steps
from trainer.preflight.declaration import preflight_of
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question
from trainer.protocol.rungs import Rung
from trainer.recipes.registry import recipes, validate
from trainer.tasks.text_classification import survey as surveying

RECIPE = recipes()["text_classification"]
PREFLIGHT = preflight_of(RECIPE.preflight)


def surveyed(folder: Path, dataset: Path, **params: Any) -> tuple[Survey, list[Check]]:
    """The survey, and what the recipe's own suspicions say."""
    asked = Question(
        recipe=RECIPE.name,
        declaration=RECIPE.preflight,
        dataset=str(dataset),
        params=validate(RECIPE, {**SMALL, **params}),
        datasets_dir=folder / "datasets",
        runs_dir=folder / "runs",
    )
    known = PREFLIGHT.survey(asked)
    if known.outlook is None:
        return known, list(known.checks)
    told = [check for suspicion in PREFLIGHT.suspicions for check in suspicion.look(asked, known)]
    return known, [*known.checks, *told, *steps.look(asked, known)]


def test_a_sound_dataset_is_told_with_its_labels_and_the_steps_of_the_run(tmp_path: Path) -> None:
    known, checks = surveyed(tmp_path, write_texts(tmp_path / "things.csv"))
    assert set(verdicts(checks).values()) == {Verdict.OK}
    assert one(checks, "dataset").details["labels"] == {"weather": 80, "kitchen": 80, "garden": 80}
    assert known.outlook is not None
    assert (known.outlook.steps_per_epoch, known.outlook.total_steps) == (12, 48)
    assert known.outlook.keeps_rest


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"text": "a", "label": "x"}, {"text": "b", "label": "x"}], "all 2 rows have the label 'x'"),
        ([{"text": "a", "label": "x"}, {"text": "", "label": "y"}], "line 2, column text: is empty"),
        ([{"body": "a", "label": "x"}], "line 1, column text: is missing; the columns are 'body', 'label'"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_place(
    tmp_path: Path, rows: list[dict[str, str]], said: str
) -> None:
    known, checks = surveyed(tmp_path, write(tmp_path / "a.jsonl", rows))
    assert known.outlook is None
    assert said in one(checks, "dataset").found
    assert one(checks, "dataset").verdict is Verdict.PROBLEM


def test_a_label_that_cannot_be_measured_is_a_problem_before_anything_starts(tmp_path: Path) -> None:
    rows = [{"text": f"t{n}", "label": "ab"[n % 2], "group": str(n)} for n in range(40)]
    path = write(tmp_path / "a.jsonl", [*rows, {"text": "odd", "label": "c", "group": "x"}])
    assert "the label 'c' (a.jsonl, line 41)" in one(surveyed(tmp_path, path)[1], "dataset").found
    allowed = surveyed(tmp_path, path, unseen_labels="allow")[1]
    assert "1 labels are never measured: c" in one(allowed, "measures").found


def test_labels_that_are_rare_lopsided_or_twins_are_told_with_what_helps(tmp_path: Path) -> None:
    rows = [{"text": f"text {n}", "label": "Spam" if n % 12 else "ham"} for n in range(120)]
    path = write(tmp_path / "a.jsonl", [*rows, *({"text": f"x{n}", "label": "spam "} for n in range(3))])
    check = one(surveyed(tmp_path, path)[1], "labels")
    assert check.verdict is Verdict.WARNING
    assert "differ in case or white space only: 'Spam' and 'spam'" in check.found
    assert "1 of 3 labels have fewer than 10 texts: 'spam' (3)" in check.found
    assert "89% of the texts are 'Spam'" in check.found
    assert "label_aliases spam=Spam" in check.remedy
    joined = one(surveyed(tmp_path, path, label_aliases="spam=Spam", class_weights="balanced")[1], "labels")
    assert joined.verdict is Verdict.OK


def test_a_batch_larger_than_the_data_is_a_problem(tmp_path: Path) -> None:
    _, checks = surveyed(tmp_path, write_texts(tmp_path / "a.csv", count=30), batch_size=64)
    assert one(checks, "steps").verdict is Verdict.PROBLEM


def test_of_a_large_file_the_beginning_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveying, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(surveying, "HEAD_BYTES", 4000)
    known, checks = surveyed(tmp_path, write_texts(tmp_path / "a.csv", count=600))
    assert known.outlook is not None
    assert known.outlook.is_estimated
    assert known.outlook.num_examples == pytest.approx(600, rel=0.1)
    assert "estimated from the first" in one(checks, "dataset").found


def model_folder(folder: Path, *, cut: bool = False, tokenizer: bool = True) -> Path:
    """A folder that looks like a model of Hugging Face; nothing of it is ever loaded here."""
    folder.mkdir()
    config = {"model_type": "roberta", "max_position_embeddings": 66, "pad_token_id": 1, "hidden_size": 8}
    (folder / "config.json").write_text(json.dumps(config))
    if tokenizer:
        (folder / "tokenizer.json").write_text('{"model": {}}')
    header = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    body = struct.pack("<Q", len(header)) + header + bytes(16)
    (folder / "model.safetensors").write_bytes(body[:-8] if cut else body)
    return folder


def test_models_that_cannot_be_used_are_told_before_anything_is_loaded(tmp_path: Path) -> None:
    path = write_texts(tmp_path / "a.csv")

    def judged(folder: Path, **params: Any) -> Check:
        return one(surveyed(tmp_path, path, model=str(folder), learning_rate=5e-5, **params)[1], "model")

    whole = model_folder(tmp_path / "whole")
    assert judged(whole, max_length=64).verdict is Verdict.OK
    assert "max_length is 128 and the model reads at most 64 tokens" in judged(whole, max_length=128).found
    assert "model.safetensors: is cut off" in judged(model_folder(tmp_path / "cut", cut=True)).found
    assert "holds no tokenizer" in judged(model_folder(tmp_path / "mute", tokenizer=False)).found
    assert "there is no such folder" in judged(tmp_path / "nothing").found
    hasty = one(surveyed(tmp_path, path, model=str(whole), learning_rate=2e-3)[1], "model")
    assert "forget" in hasty.found


def test_every_remedy_gives_parameters_the_recipe_takes_until_it_cannot_help_any_more() -> None:
    params = validate(RECIPE, {"max_examples": 3000})
    for rung in (Rung.HALVE_BATCH, Rung.SHORTER, Rung.EVALUATION_OFF, Rung.SUBSET, Rung.CPU):
        present, times = params, 0
        while (change := RECIPE.remedies[rung].change(present)) is not None:
            assert any(present[name] != value for name, value in change.items())
            present, times = validate(RECIPE, {**present, **change}), times + 1
            assert times < 20, rung
        assert times >= 1


def test_smoke_parameters_are_valid_and_reach_everything() -> None:
    smoke = validate(RECIPE, PREFLIGHT.smoke(validate(RECIPE, {"patience": 3, "eval_every": 50}), 6))
    assert (smoke["max_steps"], smoke["patience"], smoke["eval_every"]) == (6, 0, 0)


def test_every_preset_is_valid() -> None:
    assert len(RECIPE.presets) >= 4
    for preset in RECIPE.presets:
        validate(RECIPE, preset.params)
