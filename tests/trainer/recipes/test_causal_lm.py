"""Remedies and presets of the language model recipe."""

from __future__ import annotations

from typing import Any

import pytest

from trainer.protocol.rungs import Rung
from trainer.recipes.registry import ParameterError, recipes, validate

RECIPE = recipes()["causal_lm"]


def after(rung: Rung, **params: Any) -> list[dict[str, Any]]:
    """What the rung changes, again and again, until it says that it cannot help any more."""
    present = validate(RECIPE, params)
    changes: list[dict[str, Any]] = []
    while (change := RECIPE.remedies[rung].change(present)) is not None:
        assert change != {name: present[name] for name in change}
        present = validate(RECIPE, present | change)
        changes.append(change)
        assert len(changes) < 50
    return changes


def test_half_the_batch_keeps_the_step_what_it_was_and_ends_with_checkpointing() -> None:
    changes = after(Rung.HALVE_BATCH, batch_size=8, accumulate=2)
    assert changes[:3] == [
        {"batch_size": 4, "accumulate": 4},
        {"batch_size": 2, "accumulate": 8},
        {"batch_size": 1, "accumulate": 16},
    ]
    assert changes[3:] == [{"gradient_checkpointing": True}]


def test_the_other_rungs_change_what_they_say_and_end() -> None:
    assert [change["max_length"] for change in after(Rung.SHORTER, max_length=256)] == [128, 64]
    assert after(Rung.EVALUATION_OFF) == [{"eval_every": 10_000_000}]
    assert after(Rung.EVALUATION_OFF, evaluate=False) == []
    assert after(Rung.EVALUATION_OFF, patience=2) == []
    assert after(Rung.SUBSET, max_examples=2000) == [{"max_examples": 1000}, {"max_examples": 500}]
    assert after(Rung.SUBSET)[0] == {"train_fraction": 0.5}
    assert after(Rung.CPU, precision="fp16") == [{"device": "cpu", "precision": "fp32"}]


@pytest.mark.parametrize("preset", RECIPE.presets, ids=lambda preset: preset.name)
def test_every_preset_is_valid(preset: Any) -> None:
    validate(RECIPE, preset.params)


def test_parameters_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ParameterError, match="must be a multiple of twice num_heads"):
        validate(RECIPE, {"hidden_dim": 100, "num_heads": 8})
    with pytest.raises(ParameterError, match="needs evaluate"):
        validate(RECIPE, {"patience": 3, "evaluate": False})
