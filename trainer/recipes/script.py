"""Your own script, whatever it trains: the recipe of every script registered in ``instance/scripts``."""

from __future__ import annotations

from trainer.recipes.declaration import Recipe, RecipeParams


class ScriptParams(RecipeParams):
    """A script brings parameters of its own; see :func:`trainer.scripts.recipe.recipe_of`."""


RECIPE = Recipe(
    name="script",
    title="Your own script",
    summary=(
        "Runs a script you have registered, under the same supervision as every recipe: environment, hang "
        "watch, diagnosis and fallback ladder."
    ),
    task="script",
    Params=ScriptParams,
    presets=(),
    builtin_datasets=(),
    dataset_help="None, or a file under one of the dataset folders, as the script says.",
    entry="",
    preflight="trainer.scripts.preflight:PREFLIGHT",
    position=90,
    needs_dataset=False,
)
