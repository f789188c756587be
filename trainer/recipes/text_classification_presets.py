"""Ready-made settings of a text classification run.

Those of AITextDetector have its batch size, rate, schedule and epochs; docs/presets.md says what differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainer.recipes.declaration import Preset

_DETECTOR: Final[Mapping[str, Any]] = {
    "batch_size": 8,
    "num_epochs": 2,
    "learning_rate": 5e-5,
    "weight_decay": 0.01,
    "warmup_steps": 0,
    "schedule": "constant",
    "max_length": 256,
    "held_out_fraction": 0.2,
    "precision": "fp32",
    "seed": 42,
}

PRESETS: Final = (
    Preset("demo", "Demo: which package is this from?", {"eval_every": 100}),
    Preset(
        "quick",
        "Quick look (30 s)",
        {
            "max_examples": 3000,
            "num_epochs": 4,
            "max_length": 64,
            "hidden_dim": 64,
            "vocab_size": 4096,
            "num_probes": 50,
            "eval_every": 50,
        },
    ),
    Preset("aitextdetector", "AITextDetector: RoBERTa, two epochs", {**_DETECTOR, "model": "roberta-base"}),
    Preset(
        "aitextdetector_scratch",
        "AITextDetector's schedule without a download: from scratch",
        {**_DETECTOR, "learning_rate": 5e-4},
    ),
)
