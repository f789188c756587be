"""Ready-made settings of a language model run.

Those of original systems have their batch sizes, rates, schedules, epochs and LoRA numbers;
docs/presets.md says what differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainer.recipes.declaration import Preset

_COLLEGE_ADVISOR: Final[Mapping[str, Any]] = {
    "model": "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
    "num_epochs": 3,
    "batch_size": 2,
    "accumulate": 8,
    "learning_rate": 2e-5,
    "weight_decay": 0.01,
    "warmup_steps": 50,
    "schedule": "cosine",
    "min_lr_fraction": 0.0,
    "max_grad_norm": 1.0,
    "max_length": 512,
    "held_out_fraction": 0.1,
    "lora_rank": 32,
    "lora_alpha": 64.0,
    "lora_dropout": 0.05,
    "lora_targets": "q_proj,k_proj,v_proj,o_proj",
    "precision": "fp32",
    "eval_every": 50,
    "checkpoint_every": 100,
    "keep_checkpoints": 3,
}
_DAEMON: Final[Mapping[str, Any]] = {
    "model": "Qwen/Qwen3-0.6B",
    "num_epochs": 1,
    "batch_size": 2,
    "accumulate": 8,
    "learning_rate": 2e-4,
    "warmup_steps": 100,
    "max_length": 3072,
    "lora_rank": 128,
    "lora_alpha": 128.0,
    "lora_dropout": 0.02,
    "eval_every": 500,
    "checkpoint_every": 100,
    "probe_tokens": 256,
}
_SCRIPT: Final[Mapping[str, Any]] = {
    "model": "Qwen/Qwen3-0.6B",
    "num_epochs": 2,
    "batch_size": 4,
    "accumulate": 4,
    "learning_rate": 2e-4,
    "warmup_steps": 100,
    "lora_rank": 64,
    "lora_alpha": 32.0,
    "max_length": 3072,
    "eval_every": 100,
    "checkpoint_every": 500,
    "num_probes": 5,
}

PRESETS: Final = (
    Preset(
        "demo",
        "Demo: write docstrings, from scratch (2 min)",
        {"max_steps": 1800, "eval_every": 300, "eval_examples": 300},
    ),
    Preset(
        "quick",
        "Quick look (1 min)",
        {
            "max_examples": 6000,
            "max_steps": 300,
            "eval_every": 100,
            "eval_examples": 200,
            "max_length": 128,
            "num_probes": 16,
            "probe_tokens": 24,
        },
    ),
    Preset("collegeadvisor_lora", "CollegeAdvisor: instructions, LoRA on TinyLlama", _COLLEGE_ADVISOR),
    Preset("training_daemon_lora", "TRAINING's daemon: one epoch per file, LoRA on Qwen3 0.6B", _DAEMON),
    Preset("training_script_lora", "TRAINING's train.py: two epochs, LoRA on Qwen3 0.6B", _SCRIPT),
    Preset(
        "full_finetune",
        "Full fine-tune of a model you have",
        {"learning_rate": 2e-5, "batch_size": 4, "accumulate": 4, "max_length": 512, "packing": True},
    ),
)
