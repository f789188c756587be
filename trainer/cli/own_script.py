"""``--script NAME`` on the command line: which registered script a run is of."""

from __future__ import annotations

import argparse
from pathlib import Path

from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.recipes.registry import Recipe, recipes
from trainer.scripts.catalogue import find_script, registered, scripts_folder
from trainer.scripts.declaration import RECIPE, Script, ScriptError
from trainer.scripts.recipe import dataset_of, recipe_of


def chosen_recipe(arguments: argparse.Namespace, *, folder: Path | None = None) -> Recipe:
    """The recipe asked for; that of a script has the script's own parameters.

    Raises:
        UsageError: there is none of this name, or the script cannot be used.
    """
    recipe = recipes().get(arguments.recipe)
    if recipe is None:
        raise UsageError(f"RECIPE: no recipe {arguments.recipe!r}; there is {', '.join(recipes())}")
    script = None if getattr(arguments, "resume", False) else chosen_script(arguments, folder=folder)
    return recipe if script is None else recipe_of(script)


def chosen_script(arguments: argparse.Namespace, *, folder: Path | None = None) -> Script | None:
    """The script asked for; None for every other recipe.

    Args:
        arguments: with ``recipe`` and ``script``.
        folder: of all scripts; None for the instance of this command.
    Raises:
        UsageError: none is named, none is expected, or it cannot be used.
    """
    folder = folder or scripts_folder(instance())
    if arguments.recipe != RECIPE:
        if arguments.script is not None:
            raise UsageError(f"--script: only the recipe {RECIPE!r} runs a script")
        return None
    if arguments.script is None:
        known = ", ".join(one.name for one in registered(folder)) or f"none in {folder}"
        raise UsageError(f"--script: which one? There is {known}")
    try:
        return find_script(folder, arguments.script)
    except ScriptError as exc:
        raise UsageError(f"--script: {exc}") from exc


def script_dataset(script: Script, arguments: argparse.Namespace) -> str:
    """What the run of ``script`` trains on: the absolute path of a file, or the script's own name.

    Raises:
        UsageError: it takes no file, needs one, or there is none of this name.
    """
    given: str | None = arguments.dataset
    if given is None:
        if script.dataset == "required":
            raise UsageError(f"--dataset: {script.name} needs a file")
        return dataset_of(script, "")
    if script.dataset == "none":
        raise UsageError(f"--dataset: {script.name} takes none; its script.toml says so")
    if not Path(given).is_file():
        raise UsageError(f"--dataset: {given!r} is no file")
    return dataset_of(script, str(Path(given).resolve()))
