"""All recipes there are, their parameters checked, and their description for the form.

A recipe is one module of this package that holds a ``RECIPE``; adding the file is all it takes.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin

import annotated_types
from pydantic import ValidationError
from pydantic.fields import FieldInfo

import trainer.recipes
from trainer.datasets.kinds.registry import endings_of, kinds
from trainer.recipes.declaration import (
    BuiltinDataset,
    ParameterError,
    ParameterType,
    Preset,
    Recipe,
    RecipeParams,
)

__all__ = [
    "BuiltinDataset",
    "ParameterError",
    "Preset",
    "Recipe",
    "RecipeParams",
    "describe",
    "recipes",
    "validate",
]
from trainer.recipes.refusals import refusal


@cache
def recipes() -> dict[str, Recipe]:
    """Every recipe by name, in the order in which people are shown them."""
    found: dict[str, Recipe] = {}
    for module_info in pkgutil.iter_modules(trainer.recipes.__path__):
        module = importlib.import_module(f"{trainer.recipes.__name__}.{module_info.name}")
        recipe = getattr(module, "RECIPE", None)
        if isinstance(recipe, Recipe):
            found[recipe.name] = recipe
    return dict(sorted(found.items(), key=lambda one: (one[1].position, one[0])))


def validate(recipe: Recipe, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``params`` complete (defaults filled in) and typed as the recipe declares.

    Raises:
        ParameterError: names the first parameter that is unknown or out of bounds.
    """
    known = recipe.Params.model_fields
    for name in params:
        if name not in known:
            raise ParameterError(str(name), f"{recipe.name} has no such parameter; it has {', '.join(known)}")
        if isinstance(params[name], bool) and _type_of(known[name]) in ("int", "float"):
            raise ParameterError(str(name), f"must be a number, got {params[name]!r}")
    try:
        return recipe.Params.model_validate(dict(params)).model_dump()
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        raise ParameterError(field, refusal(first)) from exc


def endings_for(recipe: Recipe) -> tuple[str, ...]:
    """Endings of the files ``recipe`` takes; a script reads its file itself, so it takes every kind's."""
    return endings_of(recipe.dataset_kinds if recipe.needs_dataset else kinds())


def describe(recipe: Recipe) -> dict[str, Any]:
    """The recipe as JSON: parameters in the order of their declaration, presets, datasets."""
    return {
        "name": recipe.name,
        "title": recipe.title,
        "summary": recipe.summary,
        "task": recipe.task,
        "parameters": [_describe_field(name, field) for name, field in recipe.Params.model_fields.items()],
        "presets": [
            {"name": preset.name, "title": preset.title, "params": dict(preset.params)}
            for preset in recipe.presets
        ],
        "datasets": [
            {"name": dataset.name, "title": dataset.title, "help": dataset.help}
            for dataset in recipe.builtin_datasets
        ],
        "dataset_help": recipe.dataset_help,
        "dataset_kinds": list(recipe.dataset_kinds),
        "dataset_endings": list(endings_for(recipe)),
        "needs_dataset": recipe.needs_dataset,
    }


def _describe_field(name: str, field: FieldInfo) -> dict[str, Any]:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    minimum, maximum = _bounds(field)
    kind = _type_of(field)
    return {
        "name": name,
        "type": kind,
        "default": field.default,
        "minimum": minimum,
        "maximum": maximum,
        "choices": list(get_args(field.annotation)) if kind == "choice" else None,
        "help": field.description or "",
        "group": extra.get("group", ""),
        "advanced": bool(extra.get("advanced", False)),
        "unit": extra.get("unit", ""),
    }


def _type_of(field: FieldInfo) -> ParameterType:
    if get_origin(field.annotation) is Literal:
        return "choice"
    types: dict[Any, ParameterType] = {bool: "bool", int: "int", float: "float", str: "str"}
    return types[field.annotation]


def _bounds(field: FieldInfo) -> tuple[Any, Any]:
    minimum: Any = None
    maximum: Any = None
    for rule in field.metadata:
        if isinstance(rule, annotated_types.Ge):
            minimum = rule.ge
        elif isinstance(rule, annotated_types.Le):
            maximum = rule.le
    return minimum, maximum
