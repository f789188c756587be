"""Runs over the small texts that an encoder reads, for tests of what is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tests.trainer.tasks.two_tower.small_material import params, silent, text_pairs
from trainer.tasks.two_tower.encoders import encoder_material, load_encoder
from trainer.tasks.two_tower.material import Material
from trainer.tasks.two_tower.task import TwoTowerTask

SCRATCH: dict[str, Any] = {
    "model": "scratch", "num_layers": 2, "hidden_dim": 32, "num_heads": 2, "max_length": 24,
    "vocab_size": 400, "learning_rate": 3e-3, "batch_size": 32,
}  # fmt: skip


def encoder_run(folder: Path, **changes: Any) -> tuple[TwoTowerTask, Material]:
    """A task over the small texts, read by an encoder, and its material; freshly seeded."""
    settings = params(**{**SCRATCH, **changes})
    torch.manual_seed(settings.seed)
    material, towers = encoder_material(
        text_pairs(), settings, datasets_dir=folder / "datasets", device=torch.device("cpu"), tell=silent
    )
    return TwoTowerTask(material, towers, settings), material


def saved_encoder(folder: Path) -> Path:
    """Write an encoder into ``folder`` as save_pretrained does; returns the folder."""
    pairs = text_pairs()
    torch.manual_seed(0)
    texts = [*pairs.queries, *pairs.documents]
    loaded = load_encoder(params(**SCRATCH), texts, datasets_dir=folder.parent, tell=silent)
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return folder
