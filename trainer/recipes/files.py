"""Which files a recipe takes, and who takes those that it does not; in words for a person.

Loads no reader: a recipe names kinds, a kind names endings.
"""

from __future__ import annotations

from trainer.datasets.kinds.registry import kinds
from trainer.recipes.declaration import Recipe
from trainer.recipes.registry import endings_for, recipes


def recipes_for(kind: str) -> list[str]:
    """Names of the recipes that train on files of this kind."""
    return [recipe.name for recipe in recipes().values() if kind in recipe.dataset_kinds]


def recipes_reading(ending: str) -> list[str]:
    """Names of the recipes that take files which end so, a script among them."""
    return [recipe.name for recipe in recipes().values() if ending in endings_for(recipe)]


def taken_by(recipe: Recipe, *, instead: list[str], what: str) -> str:
    """What ``recipe`` takes, and which other recipes take ``what``."""
    own = " and ".join(kinds()[name].title.lower() for name in recipe.dataset_kinds) or "no files"
    said = f"{recipe.name} takes {own} ({', '.join(endings_for(recipe))})"
    others = [name for name in instead if name != recipe.name]
    return f"{said}; {' and '.join(others)} can train on {what}" if others else said
