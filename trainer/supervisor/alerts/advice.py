"""What else helps, in the words of the run's recipe: loaded only once there is an alarm to give it with."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

Advice: TypeAlias = Callable[[str], str]
"""From an alert's category to a clause; empty where the recipe has nothing of its own to say."""


def advice_of(recipe: str) -> Advice:
    """What ``recipe`` advises.  Declarations bring pydantic, which a healthy run need not carry."""

    def advise(category: str) -> str:
        registry: Any = importlib.import_module("trainer.recipes.registry")
        found = registry.recipes().get(recipe)
        return str(found.advice.get(category, "")) if found is not None else ""

    return advise


def no_advice(category: str) -> str:
    """Nobody says more than the rules do."""
    del category
    return ""
