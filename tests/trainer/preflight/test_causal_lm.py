"""The language model recipe on files of every kind, and its parameters against them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.preflight.questions import one, verdicts
from tests.trainer.tasks.causal_lm.small_corpus import SMALL, silent, small_params, write_completions
from trainer.environment.doctor.check import Check, Verdict
from trainer.language.sources import find_source
from trainer.preflight.declaration import preflight_of
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question
from trainer.recipes.registry import recipes, validate
from trainer.tasks.causal_lm.forecast import shape_of
from trainer.tasks.causal_lm.model import build_model
from trainer.tasks.causal_lm.task import CausalLmTask
from trainer.tasks.causal_lm.train import loop_config, prepare

PREFLIGHT = preflight_of(recipes()["causal_lm"].preflight)


def surveyed(folder: Path, dataset: Path | str, **params: Any) -> tuple[Survey, list[Check]]:
    """The survey, and what the recipe's own suspicions say."""
    asked = Question(
        recipe="causal_lm",
        declaration=recipes()["causal_lm"].preflight,
        dataset=str(dataset),
        params=validate(recipes()["causal_lm"], {**SMALL, **params}),
        datasets_dir=folder / "datasets",
        runs_dir=folder / "runs",
    )
    known = PREFLIGHT.survey(asked)
    if known.outlook is None:
        return known, []
    return known, [check for own in PREFLIGHT.suspicions for check in own.look(asked, known)]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write_completions(tmp_path / "c.jsonl")


def test_what_is_foreseen_is_what_becomes_of_it(tmp_path: Path, dataset: Path) -> None:
    known, own = surveyed(tmp_path, dataset, accumulate=3)
    assert set(verdicts([*known.checks, *own]).values()) == {Verdict.OK}
    assert one(known.checks, "dataset").found == "80 prompts with completions."
    outlook, params = known.outlook, small_params(accumulate=3)
    found = prepare(str(dataset), params, datasets_dir=tmp_path, tell=silent)
    model = build_model(
        found.source, found.tokenizer, params, device=torch.device("cpu"), precision="fp32", tell=silent
    )
    task = CausalLmTask(found.material, model, params, fingerprint="")
    assert outlook is not None
    assert (outlook.num_train, outlook.num_held_out) == (
        len(found.material.train),
        len(found.material.held_out),
    )
    assert outlook.steps_per_epoch == loop_config(params, task).eval_every
    shape = shape_of(params.model_dump(), find_source("scratch"))
    weights = sum(parameter.numel() for parameter in model.model.parameters())
    vocabulary = (params.vocab_size - len(found.tokenizer)) * params.hidden_dim
    assert shape is not None
    assert shape.weights - vocabulary == weights


@pytest.mark.parametrize(
    ("params", "name", "verdict"),
    [
        ({"model": "/no/such/model"}, "model_files", Verdict.PROBLEM),
        ({"model": "somebody/some-model"}, "model_files", Verdict.PROBLEM),
        ({"precision": "fp16"}, "numbers", Verdict.PROBLEM),
        ({"lora_rank": 4}, "model", Verdict.WARNING),
        ({"max_length": 8}, "lengths", Verdict.WARNING),
        ({"batch_size": 100}, "measures", Verdict.WARNING),
        ({"num_probes": 500}, "measures", Verdict.WARNING),
        ({"patience": 50}, "measures", Verdict.WARNING),
    ],
)
def test_parameters_that_cannot_work_are_named(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    dataset: Path,
    params: dict[str, Any],
    name: str,
    verdict: Verdict,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    known, own = surveyed(tmp_path, dataset, **params)
    check = one([*known.checks, *own], name)
    assert check.verdict is verdict
    assert check.remedy


def test_a_file_for_another_recipe_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query": "a", "document": "b"}\n')
    known, _ = surveyed(tmp_path, path)
    remedy = one(list(known.checks), "dataset").remedy
    assert remedy.startswith("It has the columns of pairs of texts, which two_tower trains on. ")


def test_a_malformed_dataset_is_a_problem_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"prompt": "a", "completion": "b"}\n{"prompt": "a", "completion": ""}')
    known, _ = surveyed(tmp_path, path)
    assert known.outlook is None
    check = one(known.checks, "dataset")
    assert check.verdict is Verdict.PROBLEM
    assert "line 2, column completion: is empty" in check.found
