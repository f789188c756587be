"""What went wrong in the systems this recipe replaces; docs/language-model.md has the table."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    RobertaConfig,
    RobertaForCausalLM,
)

from tests.trainer.tasks.causal_lm.small_corpus import (
    pairs,
    silent,
    small_params,
    write_completions,
    write_messages,
)
from tests.trainer.tasks.causal_lm.test_train import prepared, trained
from tests.trainer.tasks.small_runs import losses
from trainer.engine.loop import NonFiniteLoss
from trainer.language.loading import keep_quiet, load_config, load_model
from trainer.language.sources import ModelError, ModelSource, find_source
from trainer.protocol.run_folder import RunPaths
from trainer.tasks.causal_lm.examples import split_rows
from trainer.tasks.causal_lm.material import Material
from trainer.tasks.causal_lm.model import LanguageModel, build_model
from trainer.tasks.causal_lm.packing_check import check_order
from trainer.tasks.causal_lm.probes import choose_probes, describe_probes
from trainer.tasks.causal_lm.train import Prepared, prepare, read_dataset

CPU = torch.device("cpu")


def ready(dataset: Path, folder: Path, **params: object) -> Prepared:
    return prepare(str(dataset), small_params(**params), datasets_dir=folder, tell=silent)


def model_of(found: Prepared) -> LanguageModel:
    return build_model(
        found.source, found.tokenizer, small_params(), device=CPU, precision="fp32", tell=silent
    )


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """A run that has left a model."""
    folder = tmp_path_factory.mktemp("base")
    paths = prepared(folder / "run", write_completions(folder / "c.jsonl"), max_steps=4)
    trained(paths)
    return paths


def spoiled(base: RunPaths, folder: Path, **changes: torch.Tensor | None) -> Path:
    """A copy of the model with some weights changed, or left out."""
    folder.mkdir()
    for path in base.export.iterdir():
        if path.suffix != ".safetensors":
            (folder / path.name).write_bytes(path.read_bytes())
    weights = load_file(base.export / "model.safetensors")
    for name in list(weights):
        for part, value in changes.items():
            if part in name:
                weights.pop(name)
                if value is not None:
                    weights[name] = value.clone()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_a_loss_that_is_no_number_ends_the_run_and_nothing_is_saved_or_exported(
    base: RunPaths, tmp_path: Path
) -> None:
    model = spoiled(base, tmp_path / "nan", norm=torch.full((32,), float("nan")))
    paths = prepared(
        tmp_path / "run", write_completions(tmp_path / "c.jsonl"), model=str(model), evaluate=False
    )
    with pytest.raises(NonFiniteLoss, match="loss is nan at step 1"):
        trained(paths)
    assert list(paths.checkpoints.glob("*.pt")) == []
    assert not paths.export.exists()


def test_every_step_has_its_loss_and_accumulated_batches_are_one_step(
    tmp_path: Path,
) -> None:
    paths = prepared(
        tmp_path / "run", write_completions(tmp_path / "c.jsonl"), accumulate=4, num_epochs=1, evaluate=False
    )
    assert list(losses(trained(paths))) == [1, 2, 3, 4]  # 16 batches of 4 examples


def test_held_out_examples_and_those_with_their_prompts_are_never_trained_on(tmp_path: Path) -> None:
    rows = [{"prompt": prompt, "completion": f"{said} {n}"} for n in range(3) for prompt, said, _ in pairs()]
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_dataset(str(path), datasets_dir=tmp_path, tell=silent)
    split = split_rows(found, held_out_fraction=0.2, seed=1)
    trained_on, held_out = (
        {found.asked(row) for row in side.tolist()} for side in (split.train, split.held_out)
    )
    assert trained_on & held_out == set()
    assert len(split.train) + len(split.held_out) == len(rows)


def test_a_probe_asks_the_user_and_expects_the_answer_whatever_stands_before(
    tmp_path: Path,
) -> None:
    found = ready(write_messages(tmp_path / "m.jsonl"), tmp_path, max_length=200)
    material: Material = found.material
    probes = choose_probes(material, count=4, seed=0, max_reference=20)
    for told in describe_probes(material, probes, model_of(found)):
        assert told["input"].startswith("### System:\nSay it.")
        assert "### User:\nAgain?" in told["input"]
        assert told["expected_output"] == "Yes."


def test_warnings_of_the_libraries_are_not_hidden() -> None:
    before = list(warnings.filters)
    keep_quiet()
    assert warnings.filters == before
    with pytest.warns(FutureWarning, match="hint"):
        warnings.warn("hint", FutureWarning, stacklevel=1)


def test_weights_that_the_files_lack_are_told_and_a_model_without_most_of_its_own_is_refused(
    base: RunPaths, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def loaded(folder: Path) -> None:
        source = ModelSource("folder", folder.name, folder)
        load_model(AutoModelForCausalLM, source, load_config(source), silent)

    with caplog.at_level(logging.WARNING):
        loaded(base.export)
        assert caplog.messages == []
        loaded(spoiled(base, tmp_path / "some", q_proj=None))
    assert "1 weights are not in" in caplog.text
    assert "q_proj" in caplog.text
    with pytest.raises(ModelError, match="of the model's weights are not in its files"):
        loaded(spoiled(base, tmp_path / "most", embed_tokens=None, mlp=None))


def test_a_model_whose_tokens_see_what_comes_later_is_refused_before_the_first_step(
    base: RunPaths, tmp_path: Path
) -> None:
    found = ready(write_completions(tmp_path / "c.jsonl"), tmp_path)
    size: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    size |= {"vocab_size": len(found.tokenizer), "max_position_embeddings": 64}
    sees_all = RobertaForCausalLM(RobertaConfig(**size))
    writes = LlamaForCausalLM(LlamaConfig(**size))
    check_order(LanguageModel(writes, found.tokenizer, device=CPU, precision="fp32"), found.material)
    with pytest.raises(ModelError, match="see what comes after them"):
        check_order(LanguageModel(sees_all, found.tokenizer, device=CPU, precision="fp32"), found.material)
    assert find_source(str(base.export)).kind == "folder"


def test_a_run_without_evaluation_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    paths = prepared(tmp_path / "run", write_completions(tmp_path / "c.jsonl"), evaluate=False, max_steps=1)
    with caplog.at_level(logging.WARNING):
        trained(paths)
    assert "evaluation is off" in caplog.text
