"""What ``--dataset`` means: a built-in name, a registered dataset, or a file; and its columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from trainer.cli.columns import columns_of
from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.protocol import dataset_shelf as shelf
from trainer.protocol.dataset_shelf import DatasetVersion
from trainer.recipes.files import recipes_for, recipes_reading, taken_by
from trainer.recipes.registry import Recipe, endings_for


def dataset_named(recipe: Recipe, wanted: str, columns: Sequence[str]) -> tuple[str, dict[str, str]]:
    """A built-in name as it is or a file as its absolute path, and the mapping of its columns.

    ``columns`` are those of the command line; they go over the ones a dataset was registered with.

    Raises:
        UsageError: there is no such dataset, or the recipe cannot take it.
    """
    mapping = columns_of(columns, kind_names=recipe.dataset_kinds)
    if wanted in (builtin.name for builtin in recipe.builtin_datasets):
        if mapping:
            raise UsageError(f"--column: {wanted} is built in and has no columns to choose")
        return wanted, {}
    version = registered(instance() / "datasets", wanted)
    if version is not None:
        if version.kind not in recipe.dataset_kinds:
            raise UsageError(
                f"--dataset: {version.label} holds {version.kind}; "
                f"{taken_by(recipe, instead=recipes_for(version.kind), what=version.label)}"
            )
        trouble = version.trouble()
        if trouble is not None:
            raise UsageError(f"--dataset: {version.label}: {trouble} ({version.path}); register it again")
        return version.path, version.columns | mapping
    path = Path(wanted)
    if path.is_file():
        ending = path.suffix.lower()
        if ending not in endings_for(recipe):
            raise UsageError(
                f"--dataset: {wanted!r}: {taken_by(recipe, instead=recipes_reading(ending), what=ending)}"
            )
        return str(path.resolve()), mapping
    problem = "is a folder: name a file inside it" if path.is_dir() else "is neither a file nor built in"
    raise UsageError(f"--dataset: {wanted!r} {problem}; {dataset_choices(recipe)}")


def registered(datasets_dir: Path, wanted: str) -> DatasetVersion | None:
    """The registered dataset ``NAME`` or ``NAME@VERSION``; None for what looks like a path or is unknown."""
    return None if os.sep in wanted else shelf.find(datasets_dir, wanted)


def dataset_choices(recipe: Recipe) -> str:
    """What can be asked for, for a message."""
    there = ", ".join(shelf.names(instance() / "datasets"))
    named = f"built in: {', '.join(b.name for b in recipe.builtin_datasets)}"
    return f"{named}; {f'registered: {there}; ' if there else ''}files: {recipe.dataset_help}"
