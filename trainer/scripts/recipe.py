"""A script as a recipe: the same form, the same checks, the same words as every other recipe."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, create_model

from trainer.recipes.declaration import Recipe, RecipeParams, parameter
from trainer.recipes.registry import describe
from trainer.recipes.script import RECIPE
from trainer.scripts.declaration import Script, ScriptParameter
from trainer.scripts.parameter_reading import trouble_with_text


def recipe_of(script: Script) -> Recipe:
    """The recipe ``script`` with the parameters of this script, and its words."""
    fields: dict[str, Any] = {
        name: (_type_of(one), _field_of(one)) for name, one in script.parameters.items()
    }
    return replace(
        RECIPE,
        title=script.title,
        summary=script.summary or RECIPE.summary,
        Params=create_model("ScriptParams", __base__=RecipeParams, **fields),
    )


def describe_script(script: Script) -> dict[str, Any]:
    """The script as JSON for the form: what a recipe tells, and what only a script has."""
    told = describe(recipe_of(script))
    return {
        "name": script.name,
        "title": script.title,
        "summary": script.summary,
        "parameters": told["parameters"],
        "entry": script.entry,
        "interpreter": script.interpreter,
        "working_directory": script.working_directory,
        "profile": script.profile,
        "dataset": script.dataset,
        "resumes": script.resuming is not None,
    }


def dataset_of(script: Script, dataset: str) -> str:
    """What a run of ``script`` calls its dataset: the file, or the script's own name where it has none."""
    return dataset or script.name


def file_of(dataset: str) -> str:
    """The file a run of a script trains on; empty where it has none. The inverse of :func:`dataset_of`."""
    return dataset if Path(dataset).is_absolute() else ""


def _type_of(one: ScriptParameter) -> Any:
    if one.kind == "choice":
        return Literal[one.choices]
    if one.kind == "str":
        return Annotated[str, AfterValidator(_text_check(one.pattern))]
    return {"int": int, "float": float, "bool": bool}[one.kind]


def _field_of(one: ScriptParameter) -> Any:
    return parameter(
        one.default,
        one.help,
        group=one.group,
        ge=one.minimum,
        le=one.maximum,
        unit=one.unit,
        advanced=one.advanced,
    )


def _text_check(pattern: str) -> Callable[[str], str]:
    compiled = re.compile(pattern).pattern

    def check(value: str) -> str:
        trouble = trouble_with_text(value, pattern=compiled)
        if trouble is not None:
            raise ValueError(trouble)
        return value

    return check
