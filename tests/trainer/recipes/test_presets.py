"""Presets that carry the name of an original system, beside the numbers of its sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trainer.recipes.registry import recipes, validate

# What the sources say, in their own words; docs/presets.md says what differs and why.
COLLEGE_ADVISOR = {  # train_enhanced_model.py
    "num_epochs": 3, "batch_size": 2, "gradient_accumulation_steps": 8, "learning_rate": 2e-5,
    "max_seq_length": 512, "weight_decay": 0.01, "warmup_steps": 50, "lr_scheduler_type": "cosine",
    "lora_r": 32, "lora_alpha": 64, "lora_dropout": 0.05, "target_modules": "q_proj,k_proj,v_proj,o_proj",
    "eval_steps": 50, "save_steps": 100, "save_total_limit": 3, "train_split": 0.9, "precision": "fp32",
    "model": "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
}  # fmt: skip
DAEMON = {  # config.json of the training daemon; one epoch per file
    "num_epochs": 1, "batch_size": 2, "gradient_accumulation_steps": 8, "learning_rate": 2e-4,
    "warmup_steps": 100, "max_seq_length": 3072, "lora_r": 128, "lora_alpha": 128, "lora_dropout": 0.02,
    "eval_steps": 500, "save_steps": 100, "eval_max_tokens": 256, "model": "Qwen/Qwen3-0.6B",
}  # fmt: skip
TRAIN_PY = {  # the defaults of train.py beside it
    "num_epochs": 2, "batch_size": 4, "gradient_accumulation_steps": 4, "learning_rate": 2e-4,
    "warmup_steps": 100, "lora_r": 64, "lora_alpha": 32, "eval_steps": 100, "save_steps": 500,
    "num_eval_samples": 5,
}  # fmt: skip
DETECTOR = {  # run_train_simple.py
    "num_epochs": 2, "batch_size": 8, "learning_rate": 5e-5, "max_seq_length": 256, "validation_split": 0.2,
    "seed": 42, "model": "roberta-base", "lr_scheduler_type": "constant", "warmup_steps": 0,
}  # fmt: skip
DETECTOR_FROM_SCRATCH = {**DETECTOR, "model": "scratch", "learning_rate": 5e-4}
LNSP_V4 = {  # tools/train_twotower_v4.py
    "batch_size": 32, "gradient_accumulation_steps": 16, "num_epochs": 30, "learning_rate": 5e-5,
    "weight_decay": 0.01, "tau": 0.05, "margin": 0.03, "memory_bank_size": 50_000, "seed": 42,
    "mine_schedule": "0-5:none;6-10:8@0.82-0.92;11-30:16@0.84-0.96", "filter_threshold": 0.98,
}  # fmt: skip
LNSP_FAST = {  # app/lvm/train_twotower_fast.py
    "batch_size": 256, "num_epochs": 1, "learning_rate": 1e-4, "weight_decay": 0.01, "tau": 0.07,
    "same_article_k": 3, "validation_split": 0.2, "dropout": 0.1, "device": "cpu",
}  # fmt: skip
OURS = {
    "gradient_accumulation_steps": "accumulate", "max_seq_length": "max_length", "lora_r": "lora_rank",
    "lr_scheduler_type": "schedule", "target_modules": "lora_targets", "eval_steps": "eval_every",
    "save_steps": "checkpoint_every", "save_total_limit": "keep_checkpoints",
    "eval_max_tokens": "probe_tokens", "num_eval_samples": "num_probes",
    "validation_split": "held_out_fraction", "tau": "temperature",
    "memory_bank_size": "memory_bank", "mine_schedule": "curriculum", "same_article_k": "group_negatives",
}  # fmt: skip
PRESETS = Path(__file__).parents[3] / "docs" / "presets.md"


def complete(recipe: str, preset: str) -> dict[str, Any]:
    chosen = next(one for one in recipes()[recipe].presets if one.name == preset)
    return validate(recipes()[recipe], chosen.params)


@pytest.mark.parametrize(
    ("recipe", "preset", "source"),
    [
        ("causal_lm", "collegeadvisor_lora", COLLEGE_ADVISOR),
        ("causal_lm", "training_daemon_lora", DAEMON),
        ("causal_lm", "training_script_lora", TRAIN_PY),
        ("text_classification", "aitextdetector", DETECTOR),
        ("text_classification", "aitextdetector_scratch", DETECTOR_FROM_SCRATCH),
        ("two_tower", "lnsp_v4", LNSP_V4),
        ("two_tower", "lnsp_fast", LNSP_FAST),
    ],
)  # fmt: skip
def test_a_preset_of_an_original_system_has_its_numbers(
    recipe: str, preset: str, source: dict[str, Any]
) -> None:
    params = complete(recipe, preset)
    wanted = {OURS.get(name, name): value for name, value in source.items() if name != "train_split"}
    if "train_split" in source:
        wanted["held_out_fraction"] = 1 - source["train_split"]
    assert {name: params[name] for name in wanted} == pytest.approx(wanted)


def test_a_cosine_of_the_original_ends_at_nothing() -> None:
    assert complete("causal_lm", "collegeadvisor_lora")["min_lr_fraction"] == 0.0


def test_the_page_of_presets_has_every_preset_of_every_recipe_and_no_other() -> None:
    rows = [
        line.split("|") for line in PRESETS.read_text(encoding="utf-8").splitlines() if line.count("|") > 4
    ]
    told = {(row[3].strip(" `"), row[2].strip(" `")) for row in rows[2:]}
    there = {(recipe.name, preset.name) for recipe in recipes().values() for preset in recipe.presets}
    assert told == there


def test_every_system_is_reproduced_by_name() -> None:
    names = {preset.name for recipe in recipes().values() for preset in recipe.presets}
    for system in ("lnsp_v4", "lnsp_fast", "collegeadvisor", "training_daemon", "aitextdetector"):
        assert any(name.startswith(system) for name in names), system
