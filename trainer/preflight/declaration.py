"""The words in which a recipe declares what can be told of its runs before they start.

A recipe names its declaration in ``Recipe.preflight`` as ``module:NAME``; the
module belongs to the recipe's task package and loads no training library.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trainer.environment.doctor.check import Check
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question

Look = Callable[[Question, Survey], list[Check]]


@dataclass(frozen=True)
class Suspicion:
    """One thing to look at.

    Attributes:
        id: stable name for scripts.
        title: what is looked at, also when looking fails.
        look: gives the checks; asked only when the survey has an outlook.
    """

    id: str
    title: str
    look: Look


@dataclass(frozen=True)
class RecipePreflight:
    """What a recipe knows of its runs.

    Attributes:
        survey: reads the dataset, within bounds, and foresees the run.
        suspicions: the recipe's own, beside the general ones.
        smoke: from the complete parameters to those of a run of a few real steps, which passes through
            everything that a long one does; the number of steps is the second argument.
    """

    survey: Callable[[Question], Survey]
    suspicions: tuple[Suspicion, ...]
    smoke: Callable[[Mapping[str, Any], int], dict[str, Any]]


def preflight_of(declaration: str) -> RecipePreflight:
    """The declaration called ``module:NAME``.

    Raises:
        TypeError: it names something else.
    """
    module, _, name = declaration.partition(":")
    declared = getattr(importlib.import_module(module), name)
    if not isinstance(declared, RecipePreflight):
        raise TypeError(f"{declaration} is no RecipePreflight")
    return declared
