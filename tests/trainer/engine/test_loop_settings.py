"""What becomes of a recipe's parameters in the loop, whatever the recipe."""

import pytest

from trainer.engine.loop_settings import loop_config
from trainer.recipes.registry import recipes, validate


@pytest.mark.parametrize("name", ["two_tower", "text_classification", "causal_lm"])
def test_settings_are_the_parameters_of_their_names_and_0_means_once_per_epoch(name: str) -> None:
    params = validate(recipes()[name], {"accumulate": 4, "eval_every": 0, "checkpoint_every": 7, "seed": 5})
    config = loop_config(params, num_micro_batches=10)
    assert (config.seed, config.accumulate, config.checkpoint_every) == (5, 4, 7)
    assert config.eval_every == 3
    assert config.warmup_steps == params["warmup_steps"]
    assert config.schedule == params["schedule"]
    assert config.best_metric == params["best_metric"]


def test_a_loss_is_better_when_it_is_lower_and_changes_have_the_last_word() -> None:
    params = validate(recipes()["two_tower"], {"best_metric": "loss"})
    assert loop_config(params, num_micro_batches=0).best_mode == "min"
    assert loop_config(params, num_micro_batches=0).eval_every == 1
    changed = loop_config(params | {"best_metric": "mrr"}, num_micro_batches=9, evaluates=False)
    assert (changed.best_mode, changed.evaluates) == ("max", False)
