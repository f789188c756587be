"""What a request means by ``dataset`` and ``columns``: a built-in name, a registered dataset, or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.config import Settings
from app.errors import InvalidRequest
from app.services.datasets import resolve_dataset
from trainer.datasets.kinds.registry import kinds
from trainer.protocol import dataset_shelf as shelf
from trainer.protocol.dataset_shelf import DatasetVersion
from trainer.recipes.files import recipes_for, taken_by
from trainer.recipes.registry import Recipe


@dataclass(frozen=True)
class ChosenDataset:
    """A built-in name or the real path of a file, and which column plays which role."""

    path: str
    columns: dict[str, str] = field(default_factory=dict)


def choose_dataset(
    recipe: Recipe, dataset: str, columns: Mapping[str, str], *, settings: Settings
) -> ChosenDataset:
    """Check what a request says about its dataset.

    Raises:
        InvalidRequest: ``field`` is ``dataset`` or ``columns.ROLE``.
    """
    if dataset in (one.name for one in recipe.builtin_datasets):
        if columns:
            role = next(iter(columns))
            raise InvalidRequest(
                f"{dataset} is built in and has no columns to choose", field=f"columns.{role}"
            )
        return ChosenDataset(dataset)
    _check_roles(recipe, columns)
    version = None if os.sep in dataset else shelf.find(settings.datasets_dir, dataset)
    if version is not None:
        return _registered(recipe, version, columns)
    roots = [*settings.dataset_roots, settings.datasets_dir / shelf.SHELF]  # of a run that is cloned
    return ChosenDataset(resolve_dataset(recipe, dataset, roots=roots), dict(columns))


def _registered(recipe: Recipe, version: DatasetVersion, columns: Mapping[str, str]) -> ChosenDataset:
    if version.kind not in recipe.dataset_kinds:
        raise InvalidRequest(
            f"{version.label} holds {version.kind}, which {recipe.name} cannot train on",
            field="dataset",
            hint=taken_by(recipe, instead=recipes_for(version.kind), what=version.label),
        )
    trouble = version.trouble()
    if trouble is not None:
        raise InvalidRequest(
            f"{version.label}: {trouble} ({Path(version.path).name})",
            field="dataset",
            hint="Check it again on the page Datasets: that makes a new version.",
        )
    return ChosenDataset(version.path, {**version.columns, **columns})


def _check_roles(recipe: Recipe, columns: Mapping[str, str]) -> None:
    known = [role.name for name in recipe.dataset_kinds for role in kinds()[name].roles]
    for role in columns:
        if role not in known:
            raise InvalidRequest(
                f"{recipe.name} knows no column for {role!r}",
                field=f"columns.{role}",
                hint=f"it knows {', '.join(dict.fromkeys(known)) or 'none'}",
            )
