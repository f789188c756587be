"""Which datasets a run may use: a recipe's built-in ones, and files under the allowed folders.

A path from a request is resolved once, symbolic links included, and must then
lie under one of ``Settings.dataset_roots``.  Nothing of a file is parsed here:
the trainer reads it, in its own process.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from app.errors import InvalidRequest
from trainer.datasets.kinds.registry import endings_of, kinds
from trainer.protocol.dataset_shelf import SHELF
from trainer.recipes.files import recipes_reading, taken_by
from trainer.recipes.registry import Recipe, endings_for

MAX_LISTED: Final = 500
QUARANTINE: Final = "quarantine"  # of the inbox: what lies there cannot be trained on
MAX_PATH_CHARACTERS: Final = 1024
UPLOADS: Final = "uploads"  # below the dataset folder: what has come in and has no name yet
_CACHES: Final = frozenset({"features", "tokens", "tokenizers"})  # of the trainers
_NOT_DATASETS: Final = frozenset({QUARANTINE, SHELF, UPLOADS}) | _CACHES


@dataclass(frozen=True)
class DatasetFile:
    """A file somebody may train on; ``modified_at`` in Unix seconds."""

    name: str
    path: str
    format: str
    num_bytes: int
    modified_at: float


def resolve_dataset(recipe: Recipe, dataset: str, *, roots: Sequence[Path]) -> str:
    """Return a built-in name as it is, or the absolute real path of an allowed file.

    Raises:
        InvalidRequest: ``field`` is ``dataset``; the message says what is wrong, the hint what is allowed.
    """
    builtin = [one.name for one in recipe.builtin_datasets]
    if dataset in builtin:
        return dataset
    allowed = f"built in: {', '.join(builtin) or 'none'}; files may lie under {_listing(roots)}"
    known = endings_of(kinds())
    if os.sep not in dataset and dataset.isprintable() and Path(dataset).suffix.lower() not in known:
        raise InvalidRequest(f"{recipe.name} has no dataset {dataset!r}", field="dataset", hint=allowed)
    real = resolve_file(dataset, roots=roots, endings=known, field="dataset", hint=allowed)
    ending = Path(real).suffix.lower()
    if ending not in endings_for(recipe):
        raise InvalidRequest(
            f"{dataset} ends in {ending}, which {recipe.name} cannot read",
            field="dataset",
            hint=taken_by(recipe, instead=recipes_reading(ending), what=ending),
        )
    return real


def resolve_file(
    dataset: str, *, roots: Sequence[Path], endings: Sequence[str], field: str, hint: str = ""
) -> str:
    """The absolute real path of a file under one of ``roots``, named by a path or relative to a root.

    Raises:
        InvalidRequest: ``field`` names it; it is no such file, or not one that may be read.
    """
    allowed = hint or f"files may lie under {_listing(roots)}"
    if not dataset or len(dataset) > MAX_PATH_CHARACTERS or not dataset.isprintable():
        raise InvalidRequest("the dataset must be a name or a path", field=field, hint=allowed)
    for candidate in _candidates(dataset, roots):
        real = Path(os.path.realpath(candidate))
        if not is_inside(real, roots):
            continue
        check_file(real, shown=dataset, endings=endings, field=field)
        return str(real)
    raise InvalidRequest(f"no file {dataset!r} in the dataset folders", field=field, hint=allowed)


def list_files(roots: Iterable[Path], *, skip: frozenset[str] = frozenset()) -> list[DatasetFile]:
    """The dataset files under ``roots``, but not under ROOT/SKIP; newest first, at most 500."""
    found: dict[str, DatasetFile] = {}
    for root in roots:
        for path in _walk(root, skip):
            status = path.stat()
            found[str(path)] = DatasetFile(
                path.relative_to(root).as_posix(),
                str(path.resolve()),
                path.suffix.lower().lstrip("."),
                status.st_size,
                status.st_mtime,
            )
            if len(found) >= MAX_LISTED:
                break
    return sorted(found.values(), key=lambda file: -file.modified_at)


def describe_datasets(recipes: Iterable[Recipe], *, roots: Sequence[Path]) -> list[dict[str, Any]]:
    """Built-in datasets with the recipes that know them, then files with those that read them, as JSON."""
    builtin: dict[str, dict[str, Any]] = {}
    for recipe in recipes:
        for one in recipe.builtin_datasets:
            entry = builtin.setdefault(
                one.name,
                {"name": one.name, "kind": "builtin", "title": one.title, "help": one.help, "recipes": []},
            )
            entry["recipes"].append(recipe.name)
    files = [
        {
            "kind": "file",
            "title": file.name,
            "recipes": recipes_reading(f".{file.format}"),
            **asdict(file),
        }
        for file in list_files(roots, skip=frozenset(builtin) | _NOT_DATASETS)
    ]
    return [*builtin.values(), *files]


def _candidates(dataset: str, roots: Sequence[Path]) -> Iterator[Path]:
    path = Path(dataset)
    if path.is_absolute():
        yield path
        return
    for root in roots:
        if os.path.lexists(root / path):
            yield root / path


def is_inside(real: Path, roots: Sequence[Path]) -> bool:
    """Whether a real path lies under one of ``roots``."""
    return any(real.is_relative_to(os.path.realpath(root)) for root in roots)


def check_file(real: Path, *, shown: str, endings: Sequence[str], field: str = "dataset") -> None:
    """Raise InvalidRequest unless ``real`` is a regular file that can be read, with one of ``endings``."""
    try:
        status = real.stat()
    except OSError as exc:
        raise InvalidRequest(f"{shown}: {exc.strerror}", field=field) from exc
    if stat.S_ISDIR(status.st_mode):
        raise InvalidRequest(f"{shown} is a folder", field=field, hint="name a file inside it")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidRequest(f"{shown} is not a regular file", field=field)
    if real.suffix.lower() not in endings:
        hint = f"known endings: {', '.join(endings)}"
        raise InvalidRequest(f"{shown} has an unknown ending", field=field, hint=hint)
    if status.st_size == 0:
        raise InvalidRequest(f"{shown} is empty", field=field)
    if not os.access(real, os.R_OK):
        raise InvalidRequest(f"{shown} cannot be read", field=field, hint="check its permissions")


def _walk(root: Path, skip: frozenset[str]) -> Iterator[Path]:
    endings = endings_of(kinds())
    for folder, folders, names in os.walk(root):
        left_out = skip if folder == str(root) else frozenset()
        folders[:] = sorted(one for one in folders if one not in left_out and not one.startswith((".", "_")))
        for name in sorted(names):
            path = Path(folder) / name
            is_sidecar = path.suffix == ".json" and Path(path.stem).suffix.lower() in endings
            if path.suffix.lower() in endings and path.is_file() and not (is_sidecar or path.is_symlink()):
                yield path


def _listing(roots: Sequence[Path]) -> str:
    return " or ".join(str(root) for root in roots) or "no folder (none is configured)"
