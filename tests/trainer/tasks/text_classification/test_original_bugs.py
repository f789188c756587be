"""What went wrong in the system this recipe replaces; docs/text-classification.md has the table."""

from __future__ import annotations

import logging
import shutil
import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.trainer.engine.runs import events
from tests.trainer.tasks.text_classification.small_texts import silent, write_texts
from tests.trainer.tasks.text_classification.test_train import prepared
from trainer.engine.loop import NonFiniteLoss
from trainer.engine.process import train_run
from trainer.protocol.run_folder import RunPaths
from trainer.recipes.text_classification import TextClassificationParams
from trainer.tasks.text_classification.model import build_model, choose

pytestmark = pytest.mark.process


def trained(paths: RunPaths) -> None:
    """A run in this process; most of a small run's time is the start of a process."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        train_run(paths, attempt=1)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """A run that has left a model."""
    folder = tmp_path_factory.mktemp("base")
    paths = prepared(folder / "run", write_texts(folder / "texts.csv"), max_steps=2)
    trained(paths)
    return paths


def test_a_loss_that_is_no_number_ends_the_run_and_nothing_is_saved_or_exported(
    base: RunPaths, tmp_path: Path
) -> None:
    model = shutil.copytree(base.export, tmp_path / "nan")
    weights = load_file(model / "model.safetensors")
    spoilt = {
        name: torch.full_like(value, float("nan")) if value.ndim < 2 else value
        for name, value in weights.items()
    }
    save_file(spoilt, model / "model.safetensors", metadata={"format": "pt"})
    paths = prepared(tmp_path / "run", write_texts(tmp_path / "texts.csv"), model=str(model))
    with pytest.raises(NonFiniteLoss, match="loss is nan at step 1"):
        trained(paths)
    assert list(paths.checkpoints.glob("*.pt")) == []
    assert not paths.export.exists()


def test_every_step_has_its_loss_from_the_first_on(base: RunPaths) -> None:
    told = [event for event in events(base) if event["type"] == "metrics"]
    assert [event["step"] for event in told if "train/loss" in event["values"]] == [1, 2]


def test_a_head_that_begins_at_random_is_told(
    base: RunPaths, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    params = TextClassificationParams(model=str(base.export), max_length=24)
    chosen = choose(params, [], datasets_dir=tmp_path, tell=silent)
    with caplog.at_level(logging.WARNING):
        build_model(chosen, params, names=["garden", "kitchen", "weather"], tell=silent)
        assert caplog.messages == []
        build_model(chosen, params, names=["ai", "human"], tell=silent)
    assert "classifier.bias, classifier.weight" in caplog.text
