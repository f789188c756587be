"""Ready-made settings of the two-tower recipe.

Those named ``lnsp_*`` are the set-ups of the original trainers, with their
batch sizes, schedules and epochs; docs/two-tower.md says flag by flag what
became of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainer.recipes.declaration import Preset

_V4: Final[Mapping[str, Any]] = {
    "dim": 768,
    "hidden_dim": 512,
    "num_layers": 1,
    "document_tower": "identity",
    "batch_size": 32,
    "accumulate": 16,
    "num_epochs": 30,
    "learning_rate": 5e-5,
    "min_lr_fraction": 0.02,  # 1e-6
    "warmup_steps": 0,
    "weight_decay": 0.01,
    "temperature": 0.05,
    "symmetric": False,
    "margin": 0.03,
    "margin_unit": "logits",
    "memory_bank": 50_000,
    "curriculum": "0-5:none;6-10:8@0.82-0.92;11-30:16@0.84-0.96",
    "mine_depth": 128,
    "mined_share": 0.5,
    "filter_threshold": 0.98,
    "seed": 42,
}
_V3_PHASE_2: Final[Mapping[str, Any]] = {
    **{name: value for name, value in _V4.items() if name not in ("curriculum", "mined_share")},
    "mined_negatives": 16,
    "mine_from_epoch": 0,
    "mine_every": 2,
}
_MAMBA: Final[Mapping[str, Any]] = {
    "dim": 768,
    "hidden_dim": 768,
    "document_tower": "mlp",
    "dropout": 0.1,
    "batch_size": 256,
    "weight_decay": 0.01,
    "temperature": 0.07,
    "symmetric": False,
    "held_out_fraction": 0.2,
    "num_epochs": 1,
}

PRESETS: Final = (
    Preset("demo", "Demo: find the function", {}),
    Preset(
        "quick",
        "Quick look (30 s)",
        {"max_pairs": 8000, "num_epochs": 12, "batch_size": 256, "num_probes": 50},
    ),
    Preset(
        "near_misses",
        "Near misses: train on its own mistakes",
        {"mined_negatives": 2, "mine_from_epoch": 2, "mine_every": 2},
    ),
    Preset(
        "vectors_gru",
        "Vectors: GRU query tower, for an NPZ file",
        {
            "dim": 768,
            "batch_size": 256,
            "learning_rate": 5e-4,
            "document_tower": "identity",
            "num_epochs": 10,
        },
    ),
    Preset(
        "encoder",
        "Text: a small Hugging Face encoder from scratch",
        {
            "model": "scratch",
            "num_layers": 2,
            "hidden_dim": 128,
            "num_heads": 4,
            "max_length": 64,
            "max_pairs": 8000,
            "batch_size": 128,
            "num_epochs": 6,
            "num_probes": 50,
        },
    ),
    Preset("lnsp_v4", "lnsp two-tower v4: memory bank and curriculum", _V4),
    Preset("lnsp_v3_phase2", "lnsp two-tower v3, phase 2: 16 near misses every other epoch", _V3_PHASE_2),
    Preset(
        "lnsp_base",
        "lnsp two-tower, base trainer",
        {**_MAMBA, "learning_rate": 2e-4, "warmup_steps": 500},
    ),
    Preset(
        "lnsp_samearticle",
        "lnsp two-tower, three documents of the same article",
        {**_MAMBA, "learning_rate": 2e-4, "warmup_steps": 500, "group_negatives": 3},
    ),
    Preset(
        "lnsp_hardneg",
        "lnsp two-tower, one near miss per query",
        {
            **_MAMBA,
            "learning_rate": 2e-4,
            "warmup_steps": 500,
            "mined_negatives": 1,
            "mine_depth": 5,
            "mine_from_epoch": 0,
        },
    ),
    Preset(
        "lnsp_fast",
        "lnsp two-tower, fast trainer: same article and near misses",
        {**_MAMBA, "learning_rate": 1e-4, "warmup_steps": 0, "group_negatives": 3, "device": "cpu"},
    ),
)
